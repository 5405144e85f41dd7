"""What a bank wrote about a booking, read: canonical text, SEPA fields, channel, merchant, references.

Here belongs everything that depends on how banks and payment services word a booking. What a line means is decided in `tagging`.
"""
