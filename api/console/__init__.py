"""The console: pages on which operators and administrators of tenants look after the service."""
