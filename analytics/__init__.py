"""What Kontor computes: pure functions, Polars frames in, Polars frames out.

Here belong the frame schemas, the tag trees, the knowledge files and every analysis (contracts, cashflow, life events, ...).
Here does not belong anything that reads a clock, a file of a customer, a database or the network: a result depends only
on the rows, the knowledge version and the as-of date that are handed in. Imports nothing else of ours.
"""

import os

os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:10000")
"""Read when Polars is loaded: what it frees is kept for ten seconds, since it is needed again at once. Asking the system for it
anew took an eighth of the time of large batches. The packages above import this one first."""
