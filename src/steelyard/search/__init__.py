"""Search of class costs for any estimator. Paper 003."""

__all__: list[str] = []
