"""Tests of measured numbers: queries, answers, the file."""
