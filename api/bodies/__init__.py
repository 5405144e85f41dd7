"""Bodies of responses, built from the rows of stores and the results of flows."""
