"""Where the data lie: the store on SQLite or PostgreSQL, their schemas, copies between them, and checkpoints.

May use the log and the replay.

Tested in ``tests/service``.
"""
