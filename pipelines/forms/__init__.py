"""The redirect form: `wizard.py` says at which step a customer is, `moves.py` what each action does."""
