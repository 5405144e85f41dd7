"""Tags: from bookings to categories, partners, insurance types and the links between bookings.

`tag.py` is the whole way; each step is a module. What people correct is laid over at the end (`corrections.py`).
"""
