"""What every handler needs: the runtime with its checks, all routes, replies, and a protocol that waits for nobody.

May use numbers, people, the writer and all below.

Tested in ``tests/service``.
"""
