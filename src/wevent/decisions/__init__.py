"""Step 4: one count out of many budgets; publish or not."""
