"""Rules for values that come from outside: names, addresses that the service may call, and logos. No query stands here."""
