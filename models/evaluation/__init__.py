"""How good taggers and analyses are: metrics, tables, gates and reports."""
