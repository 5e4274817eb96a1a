"""Measures on the machine at hand; printed, never asserted."""
