"""The formats by name: who uses them, for which products, and which of them a model may be trained on."""

from dataclasses import dataclass

from analytics.products import Category
from models.simulator.renderers.banks.cards import CARD_STATEMENT
from models.simulator.renderers.banks.comdirect import COMDIRECT
from models.simulator.renderers.banks.commerzbank import COMMERZBANK
from models.simulator.renderers.banks.cooperative import VR
from models.simulator.renderers.banks.deutsche_bank import DEUTSCHE_BANK
from models.simulator.renderers.banks.dkb import DKB_NEW, DKB_OLD
from models.simulator.renderers.banks.hvb import HVB
from models.simulator.renderers.banks.ing import ING
from models.simulator.renderers.banks.n26 import N26
from models.simulator.renderers.banks.sparkasse import SPARKASSE_CAMT, SPARKASSE_MT940
from models.simulator.renderers.banks.targobank import TARGOBANK
from models.simulator.renderers.banks.wallet import PAYPAL_WALLET
from models.simulator.renderers.layouts import Layout

_ACCOUNTS = (
    Category.CHECKING,
    Category.SAVINGS,
    Category.CALL_MONEY,
    Category.FIXED_DEPOSIT,
    Category.LOAN,
    Category.HOME_SAVINGS,
)
_ONLINE_ACCOUNTS = (Category.CHECKING, Category.SAVINGS, Category.CALL_MONEY, Category.LOAN)


@dataclass(frozen=True)
class Bank:
    """A bank that uses a format; its IBANs are made from the bank code."""

    name: str
    bank_code: str
    bic: str


@dataclass(frozen=True)
class Format:
    """A format with its banks and the categories of products that it serves. Cards and wallets have no bank code."""

    name: str
    layout: Layout
    banks: tuple[Bank, ...]
    categories: tuple[Category, ...] = _ACCOUNTS


_SAVINGS_BANKS = (
    Bank("Sparkasse KölnBonn", "37050198", "COLSDE33XXX"),
    Bank("Berliner Sparkasse", "10050000", "BELADEBEXXX"),
    Bank("Hamburger Sparkasse", "20050550", "HASPDEHHXXX"),
    Bank("Stadtsparkasse München", "70150000", "SSKMDEMMXXX"),
    Bank("Frankfurter Sparkasse", "50050201", "HELADEF1822"),
)
_DKB = (Bank("Deutsche Kreditbank", "12030000", "BYLADEM1001"),)
FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("sparkasse_camt", SPARKASSE_CAMT, _SAVINGS_BANKS),
        Format("sparkasse_mt940", SPARKASSE_MT940, _SAVINGS_BANKS),
        Format(
            "vr",
            VR,
            (
                Bank("Berliner Volksbank", "10090000", "BEVODEBBXXX"),
                Bank("Volksbank Stuttgart", "60090100", "VOBADESSXXX"),
                Bank("Volksbank Mittelhessen", "51390000", "VBMHDE5FXXX"),
            ),
        ),
        Format("ing", ING, (Bank("ING-DiBa", "50010517", "INGDDEFFXXX"),), _ONLINE_ACCOUNTS),
        Format("dkb_new", DKB_NEW, _DKB, _ONLINE_ACCOUNTS),
        Format("dkb_old", DKB_OLD, _DKB, _ONLINE_ACCOUNTS),
        Format(
            "commerzbank",
            COMMERZBANK,
            (Bank("Commerzbank", "37040044", "COBADEFFXXX"), Bank("Commerzbank", "50040000", "COBADEFFXXX")),
        ),
        Format(
            "deutsche_bank",
            DEUTSCHE_BANK,
            (
                Bank("Deutsche Bank", "10070024", "DEUTDEDBBER"),
                Bank("Deutsche Bank", "50070024", "DEUTDEDBFRA"),
                Bank("Postbank", "10010010", "PBNKDEFFXXX"),
            ),
        ),
        Format(
            "comdirect",
            COMDIRECT,
            (Bank("comdirect", "20041133", "COBADEHD001"), Bank("comdirect", "20041155", "COBADEHD055")),
            _ONLINE_ACCOUNTS,
        ),
        Format("n26", N26, (Bank("N26 Bank", "10011001", "NTSBDEB1XXX"),), (Category.CHECKING, Category.SAVINGS)),
        Format("hvb", HVB, (Bank("HypoVereinsbank", "70020270", "HYVEDEMMXXX"),)),
        Format("targobank", TARGOBANK, (Bank("TARGOBANK", "30020900", "CMCIDEDDXXX"),)),
        Format("card_statement", CARD_STATEMENT, (), (Category.CREDIT_CARD, Category.OTHER_CARD)),
        Format("paypal_wallet", PAYPAL_WALLET, (), (Category.OTHER_ACCOUNT,)),
    )
}
TEST_FORMATS = ("vr", "commerzbank", "comdirect", "n26")
"""Never in training: what they cost a model shows how it does with a bank that it has not seen."""
TRAINING_FORMATS = tuple(name for name in FORMATS if name not in TEST_FORMATS)
ALL = tuple(FORMATS)
WITHOUT_INTERMEDIARY = ("card_statement", "paypal_wallet")
"""Here a payment service never stands in the place of the shop."""
