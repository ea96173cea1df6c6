"""What a replay of the log rebuilds: the state of a project, and the pure functions that change it.

The writer calls the same functions: live and replay agree to the last bit. No clock, no chance, no database; may use
the log.

Tested in ``tests/service``.
"""
