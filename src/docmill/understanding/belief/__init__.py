"""How much each value that was found can be believed: one calibrated probability for all fields."""
