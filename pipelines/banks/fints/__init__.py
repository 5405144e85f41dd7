"""FinTS 3.0 with PIN and TAN: the protocol by which German banks serve programs of their customers."""
