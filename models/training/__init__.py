"""Training of the categoriser."""
