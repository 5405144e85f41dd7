"""Knowledge about partners, words and rules as tables: one CSV file per subject, with typed loaders. Tagging is elsewhere.

The files in `tables/` are written by hand from public facts (`docs/data-sources.md`); `kontor knowledge check` lists their
problems (`analytics.knowledge_checks`).
"""

from analytics.knowledge.catalogue import FLAGS, UNKNOWN, Catalogue, partners
from analytics.knowledge.everyday import given_names
from analytics.knowledge.files import FOLDER, TABLES, version

__all__ = ["FLAGS", "FOLDER", "TABLES", "UNKNOWN", "Catalogue", "given_names", "partners", "version"]
