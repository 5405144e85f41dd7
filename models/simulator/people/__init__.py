"""Simulated people: who they are, what they earn, and what happens to them over the years."""
