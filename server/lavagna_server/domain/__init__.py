"""The rules of the board, as pure functions: no I/O, no clock, no asyncio."""
