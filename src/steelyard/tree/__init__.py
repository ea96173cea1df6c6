"""C4.5 decision trees with sample weights, nominal attributes and missing values. Paper 003."""

__all__: list[str] = []
