"""The demonstration: starts a server and a crew, shows what they do, and hands over the program."""

from lavagna_crew.demo.launch import run

__all__ = ["run"]
