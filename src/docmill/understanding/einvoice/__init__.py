"""E-invoices: the XML that says exactly what an invoice, an order or a delivery note says."""
