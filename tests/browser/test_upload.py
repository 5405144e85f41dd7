"""Statement files in real browsers: chosen on a phone without script, dropped on a desktop with it, and on the demo page."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pipelines import demo_tenants
from tests.browser.driving import DESKTOP_WITH_SCRIPT, PLAIN_PHONE, App, Profiles, Way
from tests.pipelines.statements.rendering import camt
from tests.spec.browsing import appended, connecting
from tests.spec.test_statement_files import FILES, history, salaries
from tests.support.stack import Customer, Stack

DROP = """(box, content) => {
  const data = new DataTransfer();
  data.items.add(new File([content], "auszug.xml", { type: "text/xml" }));
  box.dispatchEvent(new DragEvent("dragover", { bubbles: true, cancelable: true, dataTransfer: data }));
  box.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
}"""


def at_files(way: Way, customer: Customer, name: str) -> Way:
    """A browser at the page for files."""
    way.open(appended(connecting(customer), way.app.back(name))).send("accept")
    with way.page.expect_navigation(wait_until="load"):
        way.press(way.page.locator(f'button[name=bank][value="{FILES}"]'))
    return way.at("upload")


def send(way: Way) -> None:
    with way.page.expect_navigation(wait_until="load"):
        way.press(way.page.locator('form[enctype="multipart/form-data"] button'))


@pytest.mark.parametrize("way", [PLAIN_PHONE], indirect=True)
def test_a_file_is_chosen_without_script(way: Way, customer: Customer, tmp_path: Path) -> None:
    at_files(way, customer, "chosen")
    (tmp_path / "auszug.xml").write_bytes(camt(history(4)))
    way.page.set_input_files("input[type=file]", tmp_path / "auszug.xml")
    send(way)
    way.at("uploaded").send("close")
    assert way.returned == {"baReentry": "ACCOUNT_CREATED"}


@pytest.mark.parametrize("way", [DESKTOP_WITH_SCRIPT], indirect=True)
def test_a_file_is_dropped(way: Way, customer: Customer) -> None:
    at_files(way, customer, "dropped")
    way.page.locator("[data-drop]").evaluate(DROP, camt(history(4)).decode())
    send(way)
    assert "4 Umsätze, 4 neu" in way.at("uploaded").words


def test_a_visitor_of_the_demo_sees_analyses_of_an_own_file(profiles: Profiles, stack: Stack, app: App, tmp_path: Path) -> None:
    demo_tenants.seed(stack.database, stack.vault, stack.base_url, stack.home / "demo.json", datetime.now(UTC))
    (tmp_path / "auszug.xml").write_bytes(camt(salaries(date(2025, 11, 1), 12)))
    way = Way(profiles, DESKTOP_WITH_SCRIPT, stack, app)
    try:
        way.page.goto("/demo")
        way.page.set_input_files("input[type=file]", tmp_path / "auszug.xml")
        way.page.get_by_role("button", name="Hochladen und auswerten").click()
        way.page.wait_for_url("**/demo/overview?new=36")
        assert "Netflix" in way.words
        assert way.watch.complaints == []
    finally:
        way.close()
