"""The rule engine: loads rule files, evaluates them, and makes findings.

A rule file is data. Nothing here knows of YAML beyond reading those files, or of any platform.
"""
