"""What the writer does for a request, one module a family of jobs; carry_out chooses among them.

May use the projects, jobs and all below.

Tested in ``tests/service``.
"""
