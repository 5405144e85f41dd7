"""The stores, one file an aggregate. Every function takes the owner first, and starts its queries from the owner's rows."""
