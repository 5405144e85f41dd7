"""The categoriser: the features of a line, the model, its file, and fast scoring."""
