"""What it means: what is written, and the versions in force, become settings with their origin.

One module (or package) a system. A platform knows nothing of rules.
"""
