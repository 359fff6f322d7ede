"""Commands that fit constants of src."""
