"""Training on documents whose values are known.

Training on a user's own documents (`docmill learn`, corrections in the vault) needs no extra. `receipts` and
`kinds`, which train the models in the wheel, need the extra `learning`.
"""
