"""The HTTP interface for programs, and the ASGI entrance before everything.

May use http and all below; knows no pages.

Tested in ``tests/service``.
"""
