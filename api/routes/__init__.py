"""The routes, one file per chapter of the interface. What a signature can say it says; the rest is a call of a store or flow."""
