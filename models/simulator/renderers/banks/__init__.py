"""How each bank words a booking, one file a bank."""
