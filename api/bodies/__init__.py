"""Bodies of answers, built from rows: the words of the interface for what stores and flows tell."""
