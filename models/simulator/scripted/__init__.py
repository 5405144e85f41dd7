"""Scripted households: a few personas whose accounts and bookings are written down, not drawn, and the same in every process.

Here belong the personas (`personas/*.toml`), their partners, and the small engine that turns a persona and a day into movements
(`movements`), bookings in a bank's words (`wordings`) and securities (`depots`). What a bank does with customers (logins,
confirmations, payments, faults) does not belong here.
"""
