"""Renders our Helm chart as Helm would, for as much of the template language as the chart uses; anything else is an error.

It was compared with Go's own templates (docs/kubernetes.md says how). Where `helm` is installed, a test uses that as well.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

ACTION = re.compile(r"(?P<before>\s*)\{\{(?P<left>-?)\s*(?P<code>/\*.*?\*/|.*?)\s*(?P<right>-?)\}\}", re.DOTALL)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()|]|:=|,|[^\s()|,]+')
Nodes = list[Any]


@dataclass
class Block:
    """An `if`, `with`, `range` or `define` with what is in it, and what is in its `else`."""

    kind: str
    code: str
    body: Nodes = field(default_factory=list)
    otherwise: Nodes = field(default_factory=list)


@dataclass(frozen=True)
class Action:
    """Something to be evaluated and printed, or assigned to a variable."""

    code: str


def render(chart: Path, release: str, *value_files: Path, **values: Any) -> dict[str, str]:
    """The texts of the templates of a chart, by the name of their files."""
    merged: dict[str, Any] = yaml.safe_load((chart / "values.yaml").read_text())
    for layer in (*(yaml.safe_load(path.read_text()) for path in value_files), values):
        merged = merge(merged, layer)
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    chart_facts = {"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]}
    root = {"Values": merged, "Chart": chart_facts, "Release": {"Name": release, "Service": "Helm", "Namespace": "default"}}
    definitions: dict[str, Nodes] = {}
    templates = {path.name: parse(path.read_text(), definitions) for path in sorted((chart / "templates").iterdir())}
    return {name: Evaluation(definitions, root, {}).text(nodes) for name, nodes in templates.items() if not name.startswith("_")}


def documents(texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """The objects that rendered templates describe."""
    return [document for text in texts.values() for document in yaml.safe_load_all(text) if document is not None]


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """The values of both, the second ones first, maps into each other."""
    merged = dict(base)
    for name, value in over.items():
        both_maps = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = merge(merged[name], value) if both_maps else value
    return merged


def parse(text: str, definitions: dict[str, Nodes]) -> Nodes:
    """The nodes of a template; its definitions are added to those of the chart."""
    top: Nodes = []
    stack: list[tuple[Block | None, Nodes]] = [(None, top)]
    for piece in _pieces(text):
        if isinstance(piece, str):
            stack[-1][1].append(piece)
            continue
        word, _, rest = piece.code.partition(" ")
        if word in ("if", "with", "range", "define"):
            stack.append((block := Block(word, rest), block.body))
        elif word == "else":
            block = stack[-1][0] or _fail("else without a block")
            assert not rest, "else if is not used"
            stack[-1] = (block, block.otherwise)
        elif word == "end":
            block = stack.pop()[0] or _fail("end without a block")
            if block.kind == "define":
                definitions[json.loads(block.code)] = block.body
            else:
                stack[-1][1].append(block)
        else:
            stack[-1][1].append(piece)
    assert len(stack) == 1, "a block without its end"
    return top


def _pieces(text: str) -> Iterator[str | Action]:
    """The texts and actions of a template. A dash takes away the white space beside it."""
    start, trims = 0, False
    for match in ACTION.finditer(text):
        before = text[start : match.start()] + ("" if match["left"] else match["before"])
        yield before.lstrip() if trims else before
        if not match["code"].startswith("/*"):
            yield Action(match["code"])
        start, trims = match.end(), bool(match["right"])
    yield text[start:].lstrip() if trims else text[start:]


@dataclass
class Evaluation:
    """The state while a template is rendered: where the dot stands, and the variables."""

    definitions: Mapping[str, Nodes]
    dot: Any
    variables: dict[str, Any]
    root: Any = None

    def __post_init__(self) -> None:
        self.root = self.dot if self.root is None else self.root

    def text(self, nodes: Nodes) -> str:
        """What the nodes print."""
        return "".join(node if isinstance(node, str) else self._node(node) for node in nodes)

    def _node(self, node: Block | Action) -> str:
        if isinstance(node, Action):
            name, assigns, code = node.code.partition(" := ")
            if assigns:
                self.variables[name] = self.value(code)
                return ""
            return _printed(self.value(node.code))
        if node.kind == "range":
            return self._range(node)
        value = self.value(node.code)
        if not value:
            return self.text(node.otherwise)
        return self._inside(value if node.kind == "with" else self.dot, {}).text(node.body)

    def _range(self, block: Block) -> str:
        names, assigns, code = block.code.partition(" := ")
        values = self.value(code if assigns else block.code) or []
        pairs = sorted(values.items()) if isinstance(values, dict) else list(enumerate(values))
        keys = [name.strip() for name in names.split(",")] if assigns else []
        return "".join(
            self._inside(value, dict(zip(keys, (key, value), strict=True)) if keys else {}).text(block.body)
            for key, value in pairs
        )

    def _inside(self, dot: Any, variables: Mapping[str, Any]) -> "Evaluation":
        return Evaluation(self.definitions, dot, {**self.variables, **variables}, self.root)

    def value(self, code: str) -> Any:
        """The value of an expression."""
        tokens = TOKEN.findall(code)
        value = self._pipeline(tokens)
        assert not tokens, f"cannot read {code}"
        return value

    def _pipeline(self, tokens: list[str]) -> Any:
        value = self._call(tokens, [])
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            value = self._call(tokens, [value])
        return value

    def _call(self, tokens: list[str], piped: list[Any]) -> Any:
        """A function with its arguments, of which a pipe adds the last one, or a single value."""
        function = FUNCTIONS.get(tokens[0])
        is_include = tokens[0] == "include"
        if function is None and not is_include:
            return self._term(tokens)
        tokens.pop(0)
        arguments = []
        while tokens and tokens[0] not in ("|", ")"):
            arguments.append(self._term(tokens))
        arguments += piped
        if is_include:
            name, dot = arguments
            return Evaluation(self.definitions, dot, {}).text(self.definitions[name])
        return function(*arguments) if function else None

    def _term(self, tokens: list[str]) -> Any:
        token = tokens.pop(0)
        if token == "(":
            value = self._pipeline(tokens)
            assert tokens.pop(0) == ")"
            return value
        if token.startswith('"'):
            return json.loads(token)
        if token.isdecimal():
            return int(token)
        start, *names = token.split(".")
        value = self.root if start == "$" else self.variables[start] if start else self.dot
        for name in filter(None, names):
            assert isinstance(value, dict), f"{token} asks for a field of {value!r}"
            value = value.get(name)
        return value


def _printed(value: Any) -> str:
    assert value is not None, "a value that is missing"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fail(reason: str) -> Any:
    raise AssertionError(reason)


def _nindent(spaces: int, text: str) -> str:
    return "\n" + "\n".join(" " * spaces + line for line in text.split("\n"))


FUNCTIONS: Mapping[str, Any] = {
    "quote": lambda value: json.dumps(_printed(value)),
    "default": lambda other, value: value or other,
    "dict": lambda *pairs: dict(zip(pairs[::2], pairs[1::2], strict=True)),
    "nindent": _nindent,
    "not": lambda value: not value,
    "printf": lambda form, *values: form % values,
    "toYaml": lambda value: yaml.safe_dump(value, default_flow_style=False).rstrip("\n"),
}
