"""Archives and the members they hold."""
