"""What an operator does with the data of a server: copies it, brings it back, and looks after its health."""
