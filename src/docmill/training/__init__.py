"""Training of the models in the wheel. Needs the extra `learning`; no other room imports it."""
