"""The shutdown model: the settings of one pod, and a pure function from them to its timeline.

It imports no other package of shutdownlint and names no platform; it can be used with bare
numbers.
"""
