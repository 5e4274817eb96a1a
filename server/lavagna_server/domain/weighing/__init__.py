"""Weighing: how much an agent's word counts, from trust, a learnt calibration and a cap per voter group; pure, and the same in any order."""
