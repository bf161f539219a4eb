"""Holds mechanisms of the literature, built on the product's ledger and noise, one file for each idea."""
