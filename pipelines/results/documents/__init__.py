"""Tags and analyses as finished JSON, with the models of their fields: written once when computed, and sent unchanged."""
