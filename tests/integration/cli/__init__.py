"""The command line against a server, both as processes of their own."""
