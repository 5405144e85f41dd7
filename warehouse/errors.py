"""The facts that can stand in the way of an operation. They carry no HTTP numbers: `api/http/errors.py` gives them a status.

KontorError
├── NotFound                 the object does not exist, or not for this owner
├── NameTaken                an object of this name exists already
├── Invalid                  a value breaks a rule
│   ├── UsernameDiffers      reactivation names another user
│   ├── AddressRefused       the service does not call this address
│   ├── CallbackRefused      a customer may not be sent back to this address
│   ├── SignDiffers          the category is for amounts of the other sign
│   ├── NoCounterparty       a rule needs a counterparty, and the booking names none
│   └── OrderUnfit           a payment order breaks a rule; carries the field
│       ├── AmountOutOfRange, CurrencyRefused
│       ├── IbanUnfit, NotInSepa, BicUnfit, BicMissing, BicDiffers
│       ├── TextEmpty, TextTooLong, CharacterRefused, IdentifierUnfit, PurposeCodeUnfit
│       └── DayOutOfRange, DayWithInstant, CountOutOfRange
├── OutOfTurn                a dialogue does not wait for this move
├── NotOffered               this method or medium cannot be chosen
├── PaymentDiffers           another order has this payment id
├── PaymentRepeated          an equal order was given a moment ago
├── TooMany                  there are as many of these as there can be
├── AlreadyActive            the user is active already
├── LoginFailed              name and secret do not fit, whatever the reason
├── ScopeNotGranted          none of the wanted scopes can be given
├── Throttled                too many attempts; carries the seconds to wait
├── DatabaseUnavailable      PostgreSQL does not answer
├── Busy                     another transaction holds what this one needs; trying again is safe
├── TooLate                  the time for a change is over; it was not begun
├── LakeDamaged              a file of the lake cannot be read
├── BackfillNeeded           a file of the lake was written with other columns than its table has now
├── KeysMissing              no vault key, or not the one that sealed a value
└── SealBroken               a sealed value was altered, or belongs elsewhere
"""


class KontorError(Exception):
    """A fact that keeps an operation from being carried out."""


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


class TooMany(KontorError):
    pass


class AlreadyActive(KontorError):
    pass


class LoginFailed(KontorError):
    pass


class ScopeNotGranted(KontorError):
    pass


class Throttled(KontorError):
    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(f"retry after {retry_after_seconds} s")
        self.retry_after_seconds = retry_after_seconds


class DatabaseUnavailable(KontorError):
    pass


class Busy(KontorError):
    pass


class TooLate(KontorError):
    pass


class LakeDamaged(KontorError):
    pass


class BackfillNeeded(KontorError):
    pass


class KeysMissing(KontorError):
    pass


class SealBroken(KontorError):
    pass
