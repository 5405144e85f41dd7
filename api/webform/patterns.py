"""The formats of login fields as values of the HTML attribute `pattern`, where they mean the same in a browser.

A browser's expressions are stricter than RE2's: in brackets nearly all punctuation must be escaped. A format without a safe
translation is left to the server, which checks all fields anyway.
"""

import re

CLASS = r"\[\^?(?:\\.|[^\\\[\]])+\]"
PIECE = re.compile(
    rf"(?P<set>{CLASS})|\\[dws.*+?()\[\]{{}}|^$/\\-]|\(\?:|\((?!\?)|[)|.]|[*+?]\??|\{{\d+(?:,\d*)?\}}|[^\\\[\](){{}}*+?|^$.]"
)
MEMBER = re.compile(r"\\[dws](?!-)|(\\[^A-Za-z0-9]|[^\\])(?:-(\\[^A-Za-z0-9]|[^\\]))?")
PUNCTUATION = re.compile(r"[!-/:-@\[-^`{-~]")


def browser_pattern(pattern: str) -> str | None:
    """The value of `pattern` for a format, or None if there is no safe one."""
    if not (pattern.startswith("^") and pattern.endswith("$")):
        return None
    pieces = _all(PIECE, pattern[1:-1])
    sets = {piece["set"]: _set(piece["set"]) for piece in pieces or () if piece["set"]}
    if pieces is None or None in sets.values():
        return None
    return "".join(sets.get(piece[0]) or piece[0] for piece in pieces)


def _set(text: str) -> str | None:
    negation = "^" if text.startswith("[^") else ""
    members = _all(MEMBER, text[1 + len(negation) : -1])
    if members is None:
        return None
    return f"[{negation}{''.join(_member(member) for member in members)}]"


def _member(member: re.Match[str]) -> str:
    if member[1] is None:
        return member[0]
    return "-".join(_escaped(end) for end in member.groups() if end is not None)


def _escaped(character: str) -> str:
    return PUNCTUATION.sub(r"\\\g<0>", character[-1])


def _all(expression: re.Pattern[str], text: str) -> list[re.Match[str]] | None:
    """The matches that cover a text without gaps, or None if there are none."""
    matches = list(expression.finditer(text))
    return matches if "".join(match[0] for match in matches) == text else None
