"""What the whole simulator draws from: random numbers, calendar, lists, banks, splits, and the schemas of its frames."""
