"""What people said of earlier documents, heard when another one is read."""
