"""Results for people: tables, plots, one page of all of them, and what of the paper is reproduced."""
