"""Which labels to ask for: query rules and the budget. Policies only. Paper 001."""

__all__: list[str] = []
