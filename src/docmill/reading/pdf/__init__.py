"""PDF files: text layer, form fields, pictures, attachments, ruling lines."""
