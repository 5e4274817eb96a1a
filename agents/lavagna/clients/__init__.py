"""Clients of the services that keep a board: one module per collection."""
