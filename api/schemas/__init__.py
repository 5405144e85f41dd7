"""The bodies of the interface, with its own names for every field. The only place where German field names stand."""
