"""Who asks: loads the rule files, asks them of every pod, and makes findings.

A rule file is data. Nothing here knows of YAML beyond reading those files, or of any platform.
"""
