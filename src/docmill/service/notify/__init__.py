"""Messages to people and programs about failures, by every channel that is configured."""
