"""Contour: its Envoys, which a shutdown manager beside them drains."""
