"""Every format in its own words, as a text to read: `python -m tests.models.simulator.golden` writes it anew."""

from pathlib import Path

from models.simulator.renderers.engine.noise import QUIET_RATES
from models.simulator.renderers.formats import ALL_FORMATS
from models.simulator.renderers.render import render
from tests.models.simulator.sample_acts import EXAMPLES, acts, example

FILE = Path(__file__).with_name("renderers.txt")
HEAD = "# format | act | booking text | code | batch | name | ultimate party | purpose; nothing is spoilt, · stands for nothing"
COLUMNS = ("booking_text", "gv_code", "primanota", "counterparty_name", "ultimate_name", "purpose")


def written() -> str:
    """One line for each format and example."""
    pairs = [(form, name) for form in ALL_FORMATS for name in EXAMPLES]
    rendered = render(acts(*(example(name, form) for form, name in pairs)), 1, QUIET_RATES)
    lines = [
        " | ".join((*pair, *(value or "·" for value in row)))
        for pair, row in zip(pairs, rendered.select(COLUMNS).rows(), strict=True)
    ]
    return "\n".join([HEAD, *lines, ""])


if __name__ == "__main__":
    FILE.write_text(written())
