"""A language server: findings while a manifest is edited. Needs the extra ``server``."""
