"""The fields of a purpose and their numbers."""

FIELDS = (
    "eref", "kref", "mref", "cred", "debt", "dbet", "svwz", "abwa", "abwe",
    "rref", "bref", "oamt", "coam", "purp", "tan1", "iban", "bic",
)  # fmt: skip
"""As the banks code them."""
EREF, KREF, MREF, CRED, _, _, SVWZ, ABWA, ABWE, _, BREF, _, _, PURP, _, IBAN, BIC = range(len(FIELDS))
PARTY, NOTE, REMITTANCE = 17, 18, 19
COLUMNS = (*FIELDS, "party", "note", "remittance")
SPAN_START, SPAN_END = 0, 1
"""The spans of a purpose are an array with a row for each of `COLUMNS`: where its value begins, and where it ends."""
