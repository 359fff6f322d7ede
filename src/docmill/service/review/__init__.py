"""Reviews of results by people, and corrections learned from them."""
