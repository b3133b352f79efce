"""Measured numbers: what to ask Prometheus, how to read its answers, the file that keeps them.

Only ``prometheus`` opens a connection, to the one address that the user names on the command line.
"""
