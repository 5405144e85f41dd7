"""How bank data arrive: an access is connected, fetched, checked, landed, merged and published."""
