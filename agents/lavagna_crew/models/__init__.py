"""Language models: what the crew asks of one, and the two that answer."""
