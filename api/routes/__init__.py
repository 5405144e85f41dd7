"""The routes, one file per chapter of the interface. Signatures state scopes and parameters; bodies call stores and flows."""
