"""The use cases: each public method is one transaction on one board."""
