"""The documentation as a site, made from the README, the docs and the rule files."""
