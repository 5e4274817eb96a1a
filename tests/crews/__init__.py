"""Whole crews on one board, end to end."""
