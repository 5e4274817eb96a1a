"""Kills, pauses, cut connections, full disks: what is promised holds all the same."""
