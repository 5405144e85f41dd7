"""The analyses of users: each is a function of the snapshot of their bookings, and `suite.py` states their order once.

A large analysis is a package of its own, a small one a module. What a bank's text means is no business of theirs: they read tags.
"""
