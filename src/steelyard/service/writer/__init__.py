"""The one writer and the projects in its hands: jobs, what each does (tasks), and the proof from the log (verify).

May use the log, the replay and the database; knows nothing of people and HTTP.

Tested in ``tests/service``.
"""
