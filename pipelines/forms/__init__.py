"""The redirect form: `wizard.py` says where a customer stands, `moves.py` what each move does."""
