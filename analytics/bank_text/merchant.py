"""Who really was paid: the merchant behind card terminals, payment services and marketplaces.

Works on lines in rich canonical form, where slashes and stars still tell merchant, place and service apart. Whose brand a
merchant is belongs to the partners.
"""

from analytics.bank_text.card_places import (
    before_street,
    closing_city,
    first_mark,
    has_place,
    is_land,
    without_city,
    write_place,
    write_words,
)
from analytics.bank_text.channels import CHANNELS, Channel
from analytics.bank_text.intermediaries import (
    BRAND,
    CARRIER,
    INSIDE,
    LEAD,
    PLACES,
    SERVICE,
    SIGN,
    UNDER,
    VIA,
    entry,
)
from analytics.bank_text.merchant_in_purpose import (
    behind_numbers,
    in_purpose,
    is_code,
    practice_in,
    stop_in,
    title_end,
    without_order,
)
from analytics.bank_text.name_keys import name_key_at
from analytics.native.compiling import inner, peek64
from analytics.native.phrases import (
    begins,
    behind,
    copy,
    first_phrase,
    last_end,
    next_word,
    phrase_at,
    same,
    word_end,
    word_start,
)

_CARD, _CASH = CHANNELS.index(Channel.CARD), CHANNELS.index(Channel.CASH)


@inner
def unwrap_at(table: int, channel: int, marks: int, city: int, at: int) -> tuple[int, int, int]:
    """Writes merchant and city of a line: where each ends, and the number of the service between."""
    begin, end = peek64(marks + 8), peek64(marks + 16) - 1
    ultimate, ultimate_end = end + 1, peek64(marks + 24) - 1
    purpose, purpose_end = peek64(marks + 40), peek64(marks + 48) - 1
    card = channel in (_CARD, _CASH) or has_place(begin, end)
    carried = begins(table + CARRIER, begin, end) >= 0 and (card or ultimate < ultimate_end)
    if carried or begin == end:
        begin, end, card = ultimate, ultimate_end, card or (carried and ultimate < ultimate_end)
    from_purpose = begin == end
    if from_purpose and card:
        begin = behind(table + LEAD, behind_numbers(purpose, purpose_end), purpose_end)
        end = stop_in(table, begin, purpose_end)
    elif card:
        begin = behind(table + LEAD, begin, end)
    elif from_purpose:
        begin, end = purpose, title_end(purpose, purpose_end)
    begin, end, via, moved = _service(table, begin, end, purpose, purpose_end)
    written = _brand(table, begin, end, purpose, purpose_end, at)
    if written > at:
        return written, _city(table, card, end, end, purpose, purpose_end, city), via
    if not card and not moved:
        practice, practice_end = practice_in(table, begin, end, purpose, purpose_end)
        return name_key_at(practice, practice_end, at), city, via
    city_end = _city(table, card, begin, end, purpose, purpose_end, city)
    end = first_mark(begin, end)
    if city_end == city and card and (from_purpose or not via):
        end, city_end = closing_city(peek64(table + PLACES), begin, end, from_purpose, city)
    written = without_order(name_key_at(begin, before_street(begin, end), at), at, via)
    if via:  # small shops are called after their town; chains have terminals of their own
        return written, city_end, via
    return without_city(peek64(table + PLACES), at, written, city, city_end), city_end, via


@inner
def _service(table: int, begin: int, end: int, purpose: int, purpose_end: int) -> tuple[int, int, int, bool]:
    """Where the merchant stands if a service is named first, the service's number, and whether the merchant was found."""
    row, after = -1, begin
    if begin < end:
        row, after, _ = phrase_at(peek64(table + SERVICE), begin, begin, end)
    else:
        row, after, _ = phrase_at(peek64(table + SERVICE), purpose, purpose, purpose_end)
        if row >= 0 and entry(table, row, 3):
            purpose = after
        else:
            row, _, _ = first_phrase(peek64(table + SIGN), purpose, purpose_end)
        if row < 0:
            row, _, _ = first_phrase(peek64(table + VIA), purpose, purpose_end)
    if row >= 0 and entry(table, row, 0) == 0:  # begins like a service, but is not one
        return begin, end, 0, False
    if row < 0:
        row, start, _ = first_phrase(peek64(table + VIA), begin, end)
        if row < 0 or start == begin:
            return begin, end, 0, False
        return begin, start, entry(table, row, 0), True
    via = entry(table, row, 0)
    shop = begins(table + BRAND, begin, end) >= 0  # the service sells things itself
    if entry(table, row, 3) and begin < end:
        rest = next_word(after, end)
        if rest < end and shop and is_code(table, rest, word_end(rest, end), end):
            return begin, end, 0, False
        return (rest, end, via, True) if rest < end else (begin, end, via, False)
    if begin == purpose:  # the purpose begins with the service's name
        purpose = end
    found, found_end = in_purpose(table, via, purpose, purpose_end)
    if shop and (found >= found_end or _inside(table, begin, end, found, found_end) >= 0 or _same_word(found, begin, end)):
        return begin, end, 0, False
    return (found, found_end, via, True) if found < found_end else (begin, end, via, False)


@inner
def _brand(table: int, begin: int, end: int, purpose: int, purpose_end: int, at: int) -> int:
    """Writes the merchant that a text always means, more exactly where the purpose tells."""
    row = _inside(table, begin, end, begin, end)
    if row < 0 and (purpose > end or purpose_end < begin):
        row = _inside(table, begin, end, purpose, purpose_end)
    if row < 0:
        row = begins(table + BRAND, begin, end)
    return copy(entry(table, row, 1), entry(table, row, 2), at) if row >= 0 else at


@inner
def _inside(table: int, begin: int, end: int, low: int, high: int) -> int:
    """The row that tells which of its shops a merchant was, by words somewhere; -1 if there is none."""
    if begins(table + UNDER, begin, end) < 0:
        return -1
    row, _, after = first_phrase(peek64(table + INSIDE), low, high)
    while row >= 0:
        under, size = entry(table, row, 4), entry(table, row, 5)
        if word_end(begin, end) - begin == size and same(under, begin, size):
            return row
        row, _, after = first_phrase(peek64(table + INSIDE), after, high)
    return -1


@inner
def _city(table: int, card: bool, begin: int, end: int, purpose: int, purpose_end: int, city: int) -> int:
    """Writes the place that the terminal states, and says where it ends."""
    if not card:
        return city
    city_end = write_place(begin, end, city)
    if city_end > city:
        return city_end
    stop = stop_in(table, purpose, purpose_end)
    city_end = write_place(purpose, stop, city) if purpose != begin else city
    if city_end > city:
        return city_end
    mark = first_mark(purpose, stop)
    if purpose != begin and mark < stop and is_land(peek64(table + PLACES), mark + 1, word_end(mark + 1, stop)):
        return write_words(purpose, mark, city)
    stated = behind(table + LEAD, purpose, stop)
    last = word_start(stated, last_end(stated, stop))
    if stated == purpose or last <= stated or not is_land(peek64(table + PLACES), last, stop) or _same_word(stated, begin, end):
        return city
    return write_words(stated, last, city)


@inner
def _same_word(one: int, begin: int, end: int) -> bool:
    """Whether two texts begin with the same word."""
    size = word_end(begin, end) - begin
    return size > 0 and same(one, begin, size)
