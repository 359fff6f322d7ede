"""Made-up documents of a tenant with the truth about which of them belong together.

Needs the extras `learning` and `demo`. Nothing here knows how matching works: real or made-up invoices are
turned into deals (order, delivery notes, invoices, payments), known edits are made to them, and documents
that look alike but do not belong to them are added.
"""
