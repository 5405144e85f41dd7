"""Rules for values that come from outside: names, passwords, addresses that the service may call, logos. No query stands here."""
