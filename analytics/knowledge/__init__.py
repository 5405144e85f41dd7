"""What the house knows about the world, as tables: one CSV file per subject, with typed loaders and checks. No tagging here.

The files are written by hand from public facts (`docs/data-sources.md`); `kontor knowledge check` says what is wrong in them.
"""

from analytics.knowledge.catalogue import FLAGS, UNKNOWN, Catalogue, partners
from analytics.knowledge.everyday import given_names
from analytics.knowledge.files import FOLDER, TABLES, version

__all__ = ["FLAGS", "FOLDER", "TABLES", "UNKNOWN", "Catalogue", "given_names", "partners", "version"]
