"""Tagging: from bookings to category, insurance type, partner and freelancer category, and the links between bookings.

Start with `tag.py`, which names the steps in their order; every step is a module here. Reading the texts of banks is in
`analytics.bank_text`, compiled code in `analytics.native`, tables of words, rules and partners in `analytics.knowledge`.
"""
