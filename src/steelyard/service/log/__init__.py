"""What stands in the log of a project: its events, its settings and the records of its rows.

Pure, but for guess, which reads a sample of rows for the kinds of their columns. Uses nothing else of the service.

Tested in ``tests/service``.
"""
