"""The items of a document: rows of its tables, by the words of their headings, by place and by arithmetic."""
