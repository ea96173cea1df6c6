"""The running service: everything started and stopped as one, and a standby beside it.

May use the api, the pages, http and all below.

Tested in ``tests/service``.
"""
