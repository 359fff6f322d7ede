"""E-invoices: invoices, orders and delivery notes as XML, alone or embedded in a PDF."""
