"""Contracts of simulated people: which ones they hold, when they pay, and how much."""
