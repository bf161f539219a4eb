"""Reports results: tables, plots, one page of all experiments, and pages for the documentation."""
