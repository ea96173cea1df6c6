"""``steelyard serve``: rows arrive by HTTP, each is decided at once, people or programs label what is asked.

Its rooms, each of which may use those after it: commands, server, api | pages | sources, http, numbers,
writer | people, database, replay, log.

Tested in ``tests/service``.
"""
