"""How bank data come in: an access is connected, fetched, checked, kept, merged and made public."""
