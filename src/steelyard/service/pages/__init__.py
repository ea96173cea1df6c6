"""The pages for people: their handlers, templates (html/) and what a browser loads (static/, no build step).

May use http and all below; knows nothing of the api, which the pages call as any program does.

Tested in ``tests/service``.
"""
