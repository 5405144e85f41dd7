"""Questions of several tests are answered together, and what tests assert is seen only when they run."""

from collections.abc import Sequence

import pytest

from tests.support.rehearsal import Answers, rehearse


@pytest.fixture
def batches() -> list[list[int]]:
    return []


@pytest.fixture
def double(batches: list[list[int]]) -> Answers[int, int]:
    def answer(numbers: Sequence[int]) -> list[int]:
        batches.append(list(numbers))
        return [2 * number for number in numbers]

    return Answers(answer)


def test_the_first_questions_of_all_tests_are_one_batch_and_the_second_ones_another(
    double: Answers[int, int], batches: list[list[int]]
) -> None:
    def asks_twice() -> None:
        assert double(double(3)) == 12

    def asks_once() -> None:
        assert double(4) == 8

    rehearse([asks_twice, asks_once, asks_once])
    asks_twice()
    asks_once()
    assert batches == [[3, 4], [6]]


def test_a_test_that_fails_in_its_rehearsal_fails_when_it_runs(double: Answers[int, int]) -> None:
    def fails() -> None:
        assert double(1) == 3

    rehearse([fails])
    with pytest.raises(AssertionError):
        fails()


def test_what_no_rehearsal_has_asked_is_answered_alone(double: Answers[int, int], batches: list[list[int]]) -> None:
    rehearse([])
    assert double(5) == 10
    assert batches == [[5]]
