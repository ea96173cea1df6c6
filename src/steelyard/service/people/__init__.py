"""Who may do what: people, their tokens and sessions, and which question each works on.

May use the log and the database.

Tested in ``tests/service``.
"""
