"""What is true about simulated people, as the analyses should find it."""
