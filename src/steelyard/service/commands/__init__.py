"""What `steelyard serve` and the commands below `steelyard service` do.

May use everything of the service.

Tested in ``tests/service``.
"""
