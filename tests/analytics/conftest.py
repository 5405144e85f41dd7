"""Analyses that the tests of a module ask for are computed together."""

from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType

import pytest

from tests.support.rehearsal import Answers, rehearse


@pytest.fixture(scope="module", autouse=True)
def answers(request: pytest.FixtureRequest) -> Iterator[None]:
    """Rehearses the tests of a module that ask for analyses, those of them that need nothing but their parameters."""
    askers = _names_of_askers(request.module.__dict__)
    if askers:
        items = [item for item in request.session.items if isinstance(item, pytest.Function) and item.module is request.module]
        rehearse(partial(item.obj, **_parameters(item)) for item in items if _is_plain(item, askers))
    yield
    for each in Answers.instances:
        each.forget()


def _names_of_askers(names: dict[str, object]) -> set[str]:
    """The names in a module of what asks, directly or through functions of the module or of its helpers."""
    askers = {name for name, value in names.items() if isinstance(value, Answers)}
    functions = {name: value.__code__ for name, value in names.items() if hasattr(value, "__code__")}
    helpers = {name for name, code in functions.items() if not name.startswith("test_") and "tell" in code.co_names}
    askers |= helpers
    for _ in range(2):
        askers |= {name for name, code in functions.items() if not name.startswith("test_") and askers & _used(code)}
    return askers


def _used(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return {*code.co_names, *(name for part in inner for name in _used(part))}


def _is_plain(item: pytest.Function, askers: set[str]) -> bool:
    test: Callable[..., object] = getattr(item.obj, "__func__", item.obj)
    arguments = set(item._fixtureinfo.argnames)
    return bool(askers & _used(test.__code__)) and arguments <= _parameters(item).keys() and not hasattr(test, "hypothesis")


def _parameters(item: pytest.Function) -> dict[str, object]:
    return dict(item.callspec.params) if hasattr(item, "callspec") else {}
