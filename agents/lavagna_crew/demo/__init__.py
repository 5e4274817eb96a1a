"""The demonstration: starts a server and a crew, shows what they do, and hands over the program."""

from lavagna_crew.demo.launch import Launch, run

__all__ = ["Launch", "run"]
