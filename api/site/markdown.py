"""The page of `docs/` about codes, made from the catalogue: `python -m api.site.markdown` writes it, and a test compares it."""

from pathlib import Path

from api.schemas.codes import CATALOGUE, CodeEntry

PAGE = Path(__file__).parents[2] / "docs" / "tenants" / "errors.md"
HEAD = """# Errors and messages, code by code

This page is made from the catalogue of codes (`python -m api.site.markdown`). The service shows the same at `/docs/errors` and
`/docs/errors/{code}`: as a page, or as JSON for programs, in German or in English (`Accept-Language: en`). Every error names the
address of its page in `documentation`, or in `error_uri` on the token endpoints.
[For tenants](../tenants.md#rules-for-every-request) describes the form of errors.
"""


def page() -> str:
    """The page as Markdown, with a section for each code."""
    return "\n".join([HEAD, *(_section(entry) for entry in CATALOGUE.values())])


def _section(entry: CodeEntry) -> str:
    statuses = ", ".join(str(status) for status in entry.statuses)
    place = f"answers of status {statuses}" if statuses else "messages on objects"
    lines = (
        f"## {entry.code}",
        "",
        f"**{entry.title.en}** ({entry.level}; {place}). German: „{entry.title.de}“",
        "",
        f"- What it means: {entry.meaning.en}",
        f"- What to do: {entry.remedy.en}",
        "",
    )
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page())
