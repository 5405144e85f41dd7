"""Who really was paid: the merchant behind card terminals, payment services and marketplaces.

Works on lines in rich canonical form, where slashes and stars still tell merchant, place and service apart. Whose brand a
merchant is belongs to the partners.
"""

from analytics.bank_text.card_places import (
    before_street,
    closing_city,
    first_mark,
    has_place,
    is_country,
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
    NO_SERVICE,
    SERVICE,
    SIGN,
    UNDER,
    VIA,
    Intermediaries,
)
from analytics.bank_text.line_layout import NAME, PURPOSE, ULTIMATE, part_span
from analytics.bank_text.merchant_in_purpose import (
    behind_numbers,
    is_code,
    merchant_in_purpose,
    merchant_stop,
    practice_in,
    title_end,
    without_order,
)
from analytics.bank_text.name_keys import write_name_key
from analytics.native.characters import copy, same
from analytics.native.columns import Bytes, Offsets
from analytics.native.compiling import uncounted
from analytics.native.phrases import (
    NO_PHRASE,
    behind_phrases,
    first_phrase,
    last_word_end,
    next_word,
    opening_phrase,
    phrase_at,
    word_end,
    word_start,
)

_CARD, _CASH = CHANNELS.index(Channel.CARD), CHANNELS.index(Channel.CASH)


@uncounted
def write_merchant(table: Intermediaries, channel: int, line: Bytes, parts: Offsets, city: int, at: int) -> tuple[int, int, int]:
    """Writes merchant and city of a line behind it: where each ends, and the number of the service between."""
    begin, end = part_span(parts, NAME)
    ultimate, ultimate_end = part_span(parts, ULTIMATE)
    purpose, purpose_end = part_span(parts, PURPOSE)
    card = channel in (_CARD, _CASH) or has_place(line, begin, end)
    carrier = opening_phrase(table.phrases, CARRIER, line, begin, end) != NO_PHRASE and (card or ultimate < ultimate_end)
    if carrier or begin == end:
        begin, end, card = ultimate, ultimate_end, card or (carrier and ultimate < ultimate_end)
    from_purpose = begin == end
    if from_purpose and card:
        begin = behind_phrases(table.phrases, LEAD, line, behind_numbers(line, purpose, purpose_end), purpose_end)
        end = merchant_stop(table, line, begin, purpose_end)
    elif card:
        begin = behind_phrases(table.phrases, LEAD, line, begin, end)
    elif from_purpose:
        begin, end = purpose, title_end(line, purpose, purpose_end)
    begin, end, via, moved = _behind_service(table, line, begin, end, purpose, purpose_end)
    after = _write_brand(table, line, begin, end, purpose, purpose_end, at)
    if after > at:
        return after, _write_city(table, line, card, end, end, purpose, purpose_end, city), via
    if not card and not moved:
        practice, practice_end = practice_in(table, line, begin, end, purpose, purpose_end)
        return write_name_key(line, practice, practice_end, line, at), city, via
    city_end = _write_city(table, line, card, begin, end, purpose, purpose_end, city)
    end = first_mark(line, begin, end)
    if city_end == city and card and (from_purpose or via == NO_SERVICE):
        end, city_end = closing_city(table.phrases, line, begin, end, from_purpose, city)
    after = without_order(line, at, write_name_key(line, begin, before_street(line, begin, end), line, at), via)
    if via != NO_SERVICE:  # small shops are called after their town; chains have terminals of their own
        return after, city_end, via
    return without_city(table.phrases, line, at, after, city, city_end), city_end, via


@uncounted
def _behind_service(
    table: Intermediaries, line: Bytes, begin: int, end: int, purpose: int, purpose_end: int
) -> tuple[int, int, int, bool]:
    """Where the merchant stands if a service is named first, the service's number, and whether the merchant was found."""
    row, after = NO_PHRASE, begin
    if begin < end:
        row, after, _ = phrase_at(table.phrases, SERVICE, line, begin, begin, end)
    else:
        row, after, _ = phrase_at(table.phrases, SERVICE, line, purpose, purpose, purpose_end)
        if row != NO_PHRASE and table.is_prefix[row]:
            purpose = after
        else:
            row, _, _ = first_phrase(table.phrases, SIGN, line, purpose, purpose_end)
        if row == NO_PHRASE:
            row, _, _ = first_phrase(table.phrases, VIA, line, purpose, purpose_end)
    if row != NO_PHRASE and table.service[row] == NO_SERVICE:  # begins like a service, but is not one
        return begin, end, NO_SERVICE, False
    if row == NO_PHRASE:
        row, start, _ = first_phrase(table.phrases, VIA, line, begin, end)
        if row == NO_PHRASE or start == begin:
            return begin, end, NO_SERVICE, False
        return begin, start, table.service[row], True
    via = table.service[row]
    is_shop = opening_phrase(table.phrases, BRAND, line, begin, end) != NO_PHRASE  # the service sells things itself
    if table.is_prefix[row] and begin < end:
        rest = next_word(line, after, end)
        if rest < end and is_shop and is_code(table, line, rest, word_end(line, rest, end), end):
            return begin, end, NO_SERVICE, False
        return (rest, end, via, True) if rest < end else (begin, end, via, False)
    if begin == purpose:  # the purpose begins with the service's name
        purpose = end
    merchant, merchant_end = merchant_in_purpose(table, via, line, purpose, purpose_end)
    if is_shop and (
        merchant >= merchant_end
        or _row_inside(table, line, begin, end, merchant, merchant_end) != NO_PHRASE
        or _have_same_word(line, merchant, begin, end)
    ):
        return begin, end, NO_SERVICE, False
    return (merchant, merchant_end, via, True) if merchant < merchant_end else (begin, end, via, False)


@uncounted
def _write_brand(table: Intermediaries, line: Bytes, begin: int, end: int, purpose: int, purpose_end: int, at: int) -> int:
    """Writes the merchant that a text always means, more exactly where the purpose tells; returns where it ends."""
    row = _row_inside(table, line, begin, end, begin, end)
    if row == NO_PHRASE and (purpose > end or purpose_end < begin):
        row = _row_inside(table, line, begin, end, purpose, purpose_end)
    if row == NO_PHRASE:
        row = opening_phrase(table.phrases, BRAND, line, begin, end)
    if row == NO_PHRASE:
        return at
    return copy(table.merchants, table.merchant_borders[row], table.merchant_borders[row + 1], line, at)


@uncounted
def _row_inside(table: Intermediaries, line: Bytes, begin: int, end: int, low: int, high: int) -> int:
    """The row that tells which of its shops a merchant was, by words between two positions; `NO_PHRASE` if there is none."""
    if opening_phrase(table.phrases, UNDER, line, begin, end) == NO_PHRASE:
        return NO_PHRASE
    row, _, after = first_phrase(table.phrases, INSIDE, line, low, high)
    while row != NO_PHRASE:
        under, size = table.under_borders[row], table.under_borders[row + 1] - table.under_borders[row]
        if word_end(line, begin, end) - begin == size and same(table.unders, under, line, begin, size):
            return row
        row, _, after = first_phrase(table.phrases, INSIDE, line, after, high)
    return NO_PHRASE


@uncounted
def _write_city(
    table: Intermediaries, line: Bytes, card: bool, begin: int, end: int, purpose: int, purpose_end: int, city: int
) -> int:
    """Writes the place that the terminal states, and returns where it ends."""
    if not card:
        return city
    city_end = write_place(line, begin, end, city)
    if city_end > city:
        return city_end
    stop = merchant_stop(table, line, purpose, purpose_end)
    city_end = write_place(line, purpose, stop, city) if purpose != begin else city
    if city_end > city:
        return city_end
    mark = first_mark(line, purpose, stop)
    if purpose != begin and mark < stop and is_country(table.phrases, line, mark + 1, word_end(line, mark + 1, stop)):
        return write_words(line, purpose, mark, city)
    place = behind_phrases(table.phrases, LEAD, line, purpose, stop)
    last = word_start(line, place, last_word_end(line, place, stop))
    if place == purpose or last <= place or not is_country(table.phrases, line, last, stop):
        return city
    return city if _have_same_word(line, place, begin, end) else write_words(line, place, last, city)


@uncounted
def _have_same_word(line: Bytes, other: int, begin: int, end: int) -> bool:
    """Whether the text at another position begins with the first word of a text."""
    size = word_end(line, begin, end) - begin
    return size > 0 and same(line, other, line, begin, size)
