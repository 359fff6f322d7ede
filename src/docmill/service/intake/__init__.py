"""Uploads and received files, up to the commit that queues them."""
