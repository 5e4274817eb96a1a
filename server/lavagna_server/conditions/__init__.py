"""Conditions in CEL, compiled and evaluated within a budget."""
