"""Rows that a service gets by itself: from a file it follows, or made up for the demonstration.

May use http and all below.

Tested in ``tests/service``.
"""
