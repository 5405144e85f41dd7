"""The analyses of users: each is a function of the snapshot of their bookings, and `suite.py` states their order once.

A large analysis is a package, a small one a module. Reading bank texts does not belong here: analyses read tags.
"""
