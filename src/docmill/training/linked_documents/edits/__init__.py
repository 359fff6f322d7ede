"""Known edits of deals. Each returns the deal as it was where it does not fit.

Those of `styles.KNOWN` and of `styles.OTHER` are different functions: the second set is for measuring only.
"""
