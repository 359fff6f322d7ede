"""The part of the API of paperless-ngx that its scanners and phone apps need to upload.

Their protocol, as paperless-ngx documents it (REST API, version 9), and nothing of its code.
"""
