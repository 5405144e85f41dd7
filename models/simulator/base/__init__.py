"""The foundations of the simulator: random numbers, calendar, lists, banks, splits, and the schemas of its frames."""
