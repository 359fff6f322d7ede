"""Moving from paperless-ngx: what its devices upload, and what its exporter wrote.

`carry_over` gives documents what paperless-ngx knows of them; uploads and the importer share it.
"""
