"""Many classes into few problems, with a cost for every answer. Paper 002."""
