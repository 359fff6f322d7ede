"""Values in text: dates, amounts, codes. Functions from strings to values; no documents."""
