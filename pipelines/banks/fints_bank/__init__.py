"""The simulated FinTS bank: a server of its own on loopback, with a user id for every fault (`docs/demo-bank.md`).

It is written from the standard. The connector shares nothing with it but the syntax of messages.
"""
