"""``steelyard serve``: rows arrive by HTTP, each is decided at once, people or programs label what is asked.

Tested in ``tests/service``.
"""
