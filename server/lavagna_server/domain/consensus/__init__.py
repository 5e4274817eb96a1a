"""Consensus: disagreement settled by the store itself, by rule, with the dissent kept (C1-C4).

A proposal, a ballot and a claim are entries of kinds of their own, so that they have versions, authors and history, can be watched, and fire triggers.
What follows from one of them is worked out by `settling`, within the same commit.
"""
