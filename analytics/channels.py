"""How a booking came about: the channels, and the table that reads them from codes and texts."""

from enum import StrEnum


class Channel(StrEnum):
    """The way a booking took."""

    CARD = "CARD"
    DIRECTDEBIT = "DIRECTDEBIT"
    DD_RETURN = "DD_RETURN"
    DD_RETURN_COLLECTOR = "DD_RETURN_COLLECTOR"
    STANDINGORDER = "STANDINGORDER"
    TRANSFER = "TRANSFER"
    SALARY = "SALARY"
    VL = "VL"
    PUBLIC = "PUBLIC"
    TRANSFER_RETURN = "TRANSFER_RETURN"
    CASH = "CASH"
    FEE = "FEE"
    INTEREST = "INTEREST"
    SECURITIES = "SECURITIES"
    LOAN = "LOAN"
    CARDSETTLE = "CARDSETTLE"
    INTERNAL = "INTERNAL"
    UNKNOWN = "UNKNOWN"
