"""Processing of claimed documents: leases, attempts, reports."""
