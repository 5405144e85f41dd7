"""Dialogues with a bank: consents, payments, verifications of a payee, and lists of the accounts behind a login.

`requests.py` begins dialogues and takes replies, `worker.py` runs moves at the bank, `steps.py` decides where an answer leads.
"""
