"""The command line: a person's and a script's way to the board."""
