"""Bookings that no contract and no habit explains: single payments, private money, own transfers, the bank's own, life events."""
