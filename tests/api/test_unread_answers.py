"""Long answers that are being sent: the limits of a tenant."""

from uuid import UUID

from api.http.unread_answers import UnreadAnswers

ONE, OTHER = UUID(int=1), UUID(int=2)


def test_a_tenant_has_only_so_many_answers_and_another_has_its_own() -> None:
    unread = UnreadAnswers(2, 1000)
    assert [unread.begin(ONE, 1) for _ in range(3)] == [True, True, False]
    assert unread.begin(OTHER, 1)
    unread.end(ONE, 1)
    assert unread.begin(ONE, 1)


def test_a_tenant_has_only_so_many_bytes_but_always_one_answer() -> None:
    unread = UnreadAnswers(100, 1000)
    assert unread.begin(ONE, 5000)
    assert not unread.begin(ONE, 1)
    unread.end(ONE, 5000)
    assert [unread.begin(ONE, 400) for _ in range(3)] == [True, True, False]
    unread.end(ONE, 400)
    assert unread.begin(ONE, 600)
