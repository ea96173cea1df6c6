"""Which labels to ask for: query rules and the budget. Policies only. Paper 001."""
