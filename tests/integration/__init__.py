"""A real server on a free port, and a real client."""
