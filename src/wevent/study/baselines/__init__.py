"""Mechanisms of the literature on the house's own ledger and noise, one file for each idea."""
