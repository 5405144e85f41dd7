"""Dialogues with a bank: consents, payments, verifications of a payee, and first looks at the accounts of a login.

`requests.py` is the side of whoever wants something, `worker.py` carries moves out, `steps.py` says where an answer leads.
"""
