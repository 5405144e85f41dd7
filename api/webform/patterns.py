"""The formats of login fields as a browser checks them in `pattern`: only where they are sure to say the same there.

The browser's expressions are stricter than RE2's: in brackets nearly all punctuation has to be escaped. What has no sure
translation is left to the server, which checks everything again anyway.
"""

import re

CLASS = r"\[\^?(?:\\.|[^\\\[\]])+\]"
PIECE = re.compile(
    rf"(?P<set>{CLASS})|\\[dws.*+?()\[\]{{}}|^$/\\-]|\(\?:|\((?!\?)|[)|.]|[*+?]\??|\{{\d+(?:,\d*)?\}}|[^\\\[\](){{}}*+?|^$.]"
)
MEMBER = re.compile(r"\\[dws](?!-)|(\\[^A-Za-z0-9]|[^\\])(?:-(\\[^A-Za-z0-9]|[^\\]))?")
PUNCTUATION = re.compile(r"[!-/:-@\[-^`{-~]")


def browser_pattern(pattern: str) -> str | None:
    """The value of `pattern` for a format, or None if there is no sure one."""
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
    """The matches that make up a text from beginning to end, or None if they do not."""
    found = list(expression.finditer(text))
    return found if "".join(match[0] for match in found) == text else None
