"""The fields of a purpose and their numbers."""

FIELDS = (
    "eref", "kref", "mref", "cred", "debt", "dbet", "svwz", "abwa", "abwe",
    "rref", "bref", "oamt", "coam", "purp", "tan1", "iban", "bic",
)  # fmt: skip
"""As the banks code them."""
EREF, KREF, MREF, CRED, _, _, SVWZ, ABWA, ABWE, _, BREF, _, _, PURP, _, IBAN, BIC = range(len(FIELDS))
PARTY, NOTE, REMITTANCE = 17, 18, 19
COLUMNS = (*FIELDS, "party", "note", "remittance")
SPANS = 2 * len(COLUMNS)
"""Numbers that one purpose takes: where each field begins and ends."""
