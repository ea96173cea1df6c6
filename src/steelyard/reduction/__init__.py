"""Many classes into few problems, with a cost for every answer. Paper 002."""

__all__: list[str] = []
