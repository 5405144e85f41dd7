"""What Kontor computes: pure functions, Polars frames in, Polars frames out.

Here belong the frame schemas, the tag trees, the knowledge files and every analysis (contracts, cashflow, life events, ...).
Here does not belong anything that reads a clock, a file of a customer, a database or the network: a result depends only
on the rows, the knowledge version and the as-of date that are handed in. Imports nothing else of ours.
"""
