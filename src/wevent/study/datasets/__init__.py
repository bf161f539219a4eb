"""Holds one file for each data set; `catalog` lists them."""
