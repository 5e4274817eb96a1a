"""Clients of the services that keep a board: one class per collection."""

from lavagna.clients.activations import Activations
from lavagna.clients.boards import Boards
from lavagna.clients.claims import Claims
from lavagna.clients.members import Members
from lavagna.clients.proposals import Proposals
from lavagna.clients.regions import Regions
from lavagna.clients.triggers import Triggers

__all__ = ["Activations", "Boards", "Claims", "Members", "Proposals", "Regions", "Triggers"]
