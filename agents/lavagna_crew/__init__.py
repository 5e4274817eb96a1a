"""A crew that builds a tested program over the board: the demonstration."""
