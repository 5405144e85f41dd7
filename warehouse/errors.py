"""The facts that can prevent an operation. They carry no HTTP status: `api/http/errors.py` assigns one.

KontorError
├── NotFound                 the object does not exist, or not for this owner
├── NameTaken                an object of this name exists already
├── Invalid                  a value breaks a rule
│   ├── UsernameDiffers      reactivation names another user
│   ├── AddressRefused       the service does not call this address
│   ├── CallbackRefused      a customer may not be sent back to this address
│   ├── SignDiffers          the category is for amounts of the other sign
│   ├── PasswordTooShort, PasswordCommon, PasswordHasName
│   ├── NoCounterparty       a rule needs a counterparty, and the booking names none
│   └── OrderUnfit           a payment order breaks a rule; carries the field
│       ├── AmountOutOfRange, CurrencyRefused
│       ├── IbanUnfit, NotInSepa, BicUnfit, BicMissing, BicDiffers
│       ├── TextEmpty, TextTooLong, CharacterRefused, IdentifierUnfit, PurposeCodeUnfit
│       └── DayOutOfRange, DayWithInstant, CountOutOfRange
├── OutOfTurn                the dialogue does not expect this move
├── NotOffered               this method or medium cannot be chosen
├── PaymentDiffers           another order has this payment id
├── PaymentRepeated          an equal order was placed a moment ago
├── FromBank                 the booking was delivered by a bank, and only pushed ones can be deleted
├── CursorTooOld             it is not known any more what has changed since this cursor
├── TooMany                  the largest number of these objects is reached
├── AlreadyActive            the user is active already
├── LoginFailed              name and secret do not match, for whatever reason
├── Deactivated              the user, client, API key or tenant of a request was deactivated meanwhile
├── AccessGone               the access of a payment was deleted before the bank had answered
├── ScopeNotGranted          none of the requested scopes is granted
├── Throttled                too many attempts; carries the seconds until the next one is allowed
├── DatabaseUnavailable      PostgreSQL does not answer
├── Busy                     another transaction holds a lock that this one needs; a retry is safe
├── TooLate                  the time for a change is over; nothing was changed
├── LakeDamaged              a file of the lake cannot be read
├── TombstonesUnreadable     the file that says who was erased cannot be read
├── ErasureIncomplete        the database still has rows of an erased person
├── BackfillNeeded           a file of the lake was written with other columns than its table has now
├── KeysMissing              no vault key, or not the one that sealed a value
└── SealBroken               a sealed value was altered, or belongs elsewhere
"""

from datetime import datetime


class KontorError(Exception):
    """A fact that prevents an operation."""


class NotFound(KontorError):
    pass


class NameTaken(KontorError):
    pass


class Invalid(KontorError):
    pass


class UsernameDiffers(Invalid):
    pass


class AddressRefused(Invalid):
    pass


class CallbackRefused(Invalid):
    pass


class SignDiffers(Invalid):
    pass


class PasswordTooShort(Invalid):
    pass


class PasswordCommon(Invalid):
    pass


class PasswordHasName(Invalid):
    pass


class NoCounterparty(Invalid):
    pass


class ProviderUnknown(Invalid):
    pass


class CredentialUnreadable(Invalid):
    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class CredentialUnfit(Invalid):
    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class OrderUnfit(Invalid):
    value: object = None
    """What the field holds, where it is known; never part of the message."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class AmountOutOfRange(OrderUnfit):
    pass


class CurrencyRefused(OrderUnfit):
    pass


class IbanUnfit(OrderUnfit):
    pass


class NotInSepa(OrderUnfit):
    pass


class BicUnfit(OrderUnfit):
    pass


class BicMissing(OrderUnfit):
    pass


class BicDiffers(OrderUnfit):
    pass


class TextEmpty(OrderUnfit):
    pass


class TextTooLong(OrderUnfit):
    def __init__(self, field: str, limit: int) -> None:
        super().__init__(field)
        self.limit = limit


class CharacterRefused(OrderUnfit):
    pass


class IdentifierUnfit(OrderUnfit):
    pass


class PurposeCodeUnfit(OrderUnfit):
    pass


class DayOutOfRange(OrderUnfit):
    pass


class DayWithInstant(OrderUnfit):
    pass


class CountOutOfRange(OrderUnfit):
    pass


class AccessDiffers(KontorError):
    pass


class OutOfTurn(KontorError):
    pass


class NotOffered(KontorError):
    pass


class PaymentDiffers(KontorError):
    pass


class PaymentRepeated(KontorError):
    pass


class FromBank(KontorError):
    pass


class CursorTooOld(KontorError):
    pass


class TooMany(KontorError):
    pass


class AlreadyActive(KontorError):
    pass


class LoginFailed(KontorError):
    pass


class Deactivated(KontorError):
    pass


class AccessGone(KontorError):
    pass


class ScopeNotGranted(KontorError):
    pass


class Throttled(KontorError):
    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(f"retry after {retry_after_seconds} s")
        self.retry_after_seconds = retry_after_seconds


class TooManyUnattended(Throttled):
    """The customer is not said to be there, and the login has had all sessions that a day allows without the customer."""

    def __init__(self, retry_after_seconds: int, limit: int, allowed_at: datetime) -> None:
        super().__init__(retry_after_seconds)
        self.limit = limit
        self.allowed_at = allowed_at


class DatabaseUnavailable(KontorError):
    pass


class Busy(KontorError):
    pass


class TooLate(KontorError):
    pass


class LakeDamaged(KontorError):
    pass


class TombstonesUnreadable(KontorError):
    pass


class ErasureIncomplete(KontorError):
    pass


class BackfillNeeded(KontorError):
    pass


class KeysMissing(KontorError):
    pass


class SealBroken(KontorError):
    pass
