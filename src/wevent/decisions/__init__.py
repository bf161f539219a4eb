"""Step 4: makes one count out of many budgets, and decides whether to publish."""
