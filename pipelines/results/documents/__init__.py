"""What the API sends of tags and analyses, as finished JSON: written once, by whoever computes it, and sent as it lies."""
