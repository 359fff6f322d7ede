"""The former place of `bench.data.receipt_documents`, until the last import of it has moved."""

from bench.data.receipt_documents import documents

__all__ = ["documents"]
