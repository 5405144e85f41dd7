"""Everyday spending of simulated people: habits, shops, purchases and trips."""
