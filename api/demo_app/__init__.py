"""A small app of a tenant at `/demo`: connect a bank, come back, and see what the public interface says about one's money.

It exists only where the demo tenants do. It calls the interface over HTTP, as any tenant would, and reads nothing else.
"""
