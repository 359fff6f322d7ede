"""Training: what users run on their own labelled documents too. Needs the extra `learning`."""
