"""Households that others have written, with the whole truth about them: their frames, how results compare, and what is wrong."""
