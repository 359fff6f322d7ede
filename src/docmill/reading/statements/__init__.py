"""Files in which banks send the bookings of an account: CAMT, MT940, OFX and tables as text."""
