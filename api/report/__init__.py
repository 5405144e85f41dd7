"""The report of a month, as a page and as PDF."""
