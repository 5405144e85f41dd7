"""Answers for all tests of a module in one computation: an analysis of a few bookings costs as much as one of a thousand users.

A test asks a question where it needs the answer, as if it were alone. Before the first test of a module, all are rehearsed: each
runs until it asks something that has no answer yet, then all questions are answered together, and so on. A test that runs
alone is rehearsed alone. What tests assert is seen only when they run for good.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Generic, TypeVar

import pytest

MAX_ROUNDS = 4
"""Of rehearsals. Questions that come up later are answered one by one."""
Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


class NotYetAnsweredError(BaseException):
    """Ends the rehearsal of a test at a question. No test can take it for an error of what it tests."""


class Answers(Generic[Question, Answer]):
    """A function of a question that is answered together with others, if a rehearsal has asked it before."""

    instances: ClassVar["list[Answers[Any, Any]]"] = []

    def __init__(self, answer: Callable[[Sequence[Question]], Sequence[Answer]]) -> None:
        self._answer = answer
        self._answers: dict[Question, Answer] = {}
        self._waiting: list[Question] = []
        self.rehearses = False
        Answers.instances.append(self)

    def __call__(self, question: Question) -> Answer:
        if question not in self._answers:
            self._waiting.append(question)
            if self.rehearses:
                raise NotYetAnsweredError
            self.answer_waiting()
        return self._answers[question]

    def answer_waiting(self) -> bool:
        """Answers what was asked since the last time, and tells whether it was anything."""
        questions, self._waiting = list(dict.fromkeys(self._waiting)), []
        if questions:
            self._answers |= zip(questions, self._answer(questions), strict=True)
        return bool(questions)

    def forget(self) -> None:
        """Frees what the tests of a module have asked."""
        self._answers.clear()
        self._waiting.clear()


def rehearse(tests: Iterable[Callable[[], object]]) -> None:
    """Runs tests up to their questions until all are answered."""
    waiting = list(tests)
    for _ in range(MAX_ROUNDS):
        waiting = [test for test in waiting if _stops_at_a_question(test)]
        was_asked = [answers.answer_waiting() for answers in Answers.instances]
        if not any(was_asked):
            return


def _stops_at_a_question(test: Callable[[], object]) -> bool:
    for answers in Answers.instances:
        answers.rehearses = True
    try:
        with suppress(Exception, pytest.fail.Exception, pytest.skip.Exception):
            test()
    except NotYetAnsweredError:
        return True
    finally:
        for answers in Answers.instances:
            answers.rehearses = False
    return False
