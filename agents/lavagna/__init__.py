"""What an agent needs to join a board."""
