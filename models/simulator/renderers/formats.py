"""The formats by name: who uses them, for which products, and which of them a model may be trained on."""

from dataclasses import dataclass

from analytics.products import ProductCategory
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
    ProductCategory.CHECKING,
    ProductCategory.SAVINGS,
    ProductCategory.CALL_MONEY,
    ProductCategory.FIXED_DEPOSIT,
    ProductCategory.LOAN,
    ProductCategory.HOME_SAVINGS,
)
_ONLINE_ACCOUNTS = (ProductCategory.CHECKING, ProductCategory.SAVINGS, ProductCategory.CALL_MONEY, ProductCategory.LOAN)


@dataclass(frozen=True)
class FormatBank:
    """A bank that uses a format; its IBANs are made from the bank code."""

    name: str
    bank_code: str
    bic: str


@dataclass(frozen=True)
class BankFormat:
    """A format with its banks and the categories of products that it serves. Cards and wallets have no bank code."""

    name: str
    layout: Layout
    banks: tuple[FormatBank, ...]
    categories: tuple[ProductCategory, ...] = _ACCOUNTS


_SAVINGS_BANKS = (
    FormatBank("Sparkasse KölnBonn", "37050198", "COLSDE33XXX"),
    FormatBank("Berliner Sparkasse", "10050000", "BELADEBEXXX"),
    FormatBank("Hamburger Sparkasse", "20050550", "HASPDEHHXXX"),
    FormatBank("Stadtsparkasse München", "70150000", "SSKMDEMMXXX"),
    FormatBank("Frankfurter Sparkasse", "50050201", "HELADEF1822"),
)
_DKB = (FormatBank("Deutsche Kreditbank", "12030000", "BYLADEM1001"),)
FORMATS: dict[str, BankFormat] = {
    each.name: each
    for each in (
        BankFormat("sparkasse_camt", SPARKASSE_CAMT, _SAVINGS_BANKS),
        BankFormat("sparkasse_mt940", SPARKASSE_MT940, _SAVINGS_BANKS),
        BankFormat(
            "vr",
            VR,
            (
                FormatBank("Berliner Volksbank", "10090000", "BEVODEBBXXX"),
                FormatBank("Volksbank Stuttgart", "60090100", "VOBADESSXXX"),
                FormatBank("Volksbank Mittelhessen", "51390000", "VBMHDE5FXXX"),
            ),
        ),
        BankFormat("ing", ING, (FormatBank("ING-DiBa", "50010517", "INGDDEFFXXX"),), _ONLINE_ACCOUNTS),
        BankFormat("dkb_new", DKB_NEW, _DKB, _ONLINE_ACCOUNTS),
        BankFormat("dkb_old", DKB_OLD, _DKB, _ONLINE_ACCOUNTS),
        BankFormat(
            "commerzbank",
            COMMERZBANK,
            (FormatBank("Commerzbank", "37040044", "COBADEFFXXX"), FormatBank("Commerzbank", "50040000", "COBADEFFXXX")),
        ),
        BankFormat(
            "deutsche_bank",
            DEUTSCHE_BANK,
            (
                FormatBank("Deutsche Bank", "10070024", "DEUTDEDBBER"),
                FormatBank("Deutsche Bank", "50070024", "DEUTDEDBFRA"),
                FormatBank("Postbank", "10010010", "PBNKDEFFXXX"),
            ),
        ),
        BankFormat(
            "comdirect",
            COMDIRECT,
            (FormatBank("comdirect", "20041133", "COBADEHD001"), FormatBank("comdirect", "20041155", "COBADEHD055")),
            _ONLINE_ACCOUNTS,
        ),
        BankFormat(
            "n26", N26, (FormatBank("N26 Bank", "10011001", "NTSBDEB1XXX"),), (ProductCategory.CHECKING, ProductCategory.SAVINGS)
        ),
        BankFormat("hvb", HVB, (FormatBank("HypoVereinsbank", "70020270", "HYVEDEMMXXX"),)),
        BankFormat("targobank", TARGOBANK, (FormatBank("TARGOBANK", "30020900", "CMCIDEDDXXX"),)),
        BankFormat("card_statement", CARD_STATEMENT, (), (ProductCategory.CREDIT_CARD, ProductCategory.OTHER_CARD)),
        BankFormat("paypal_wallet", PAYPAL_WALLET, (), (ProductCategory.OTHER_ACCOUNT,)),
    )
}
TEST_FORMATS = ("vr", "commerzbank", "comdirect", "n26")
"""Never in training: what they cost a model shows how it does with a bank that it has not seen."""
TRAINING_FORMATS = tuple(name for name in FORMATS if name not in TEST_FORMATS)
ALL_FORMATS = tuple(FORMATS)
WITHOUT_INTERMEDIARY = ("card_statement", "paypal_wallet")
"""Here a payment service never stands in the place of the shop."""
