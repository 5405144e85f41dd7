"""What must stay secret: the vault, sealed values, hashes of passwords and tokens, certificates of tenants."""
