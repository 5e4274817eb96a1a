"""The roles of the crew: what wakes each, what it asks its mind, and what it writes."""
