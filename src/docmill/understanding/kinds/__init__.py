"""What kind of document it is: by the words of titles and labels, and by what was learned."""
