"""Numbers about a project, read beside the writer: what it costs now, drift, other prices, other models, agreement.

May use the writer and all below.

Tested in ``tests/service``.
"""
