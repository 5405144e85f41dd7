"""The truth about simulated people, as the analyses should find it."""
