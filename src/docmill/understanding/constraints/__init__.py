"""Values that are chosen together: totals, parties, periods, payment terms."""
