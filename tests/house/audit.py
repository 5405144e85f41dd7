"""What `make audit` runs: writes down what the lock installs (a bill of materials in CycloneDX) and asks the database of known
weaknesses about it. What the database does not know was not checked, and is never told as sound.
"""

import json
import re
import subprocess
import sys
import tomllib
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-dask.lock"
BILL = ROOT / "dist" / "sbom.json"
SOUND, WEAK, UNKNOWN = 0, 1, 2
SHOWN = 5


@dataclass(frozen=True)
class Pin:
    """A package as a lock pins it, with the hashes of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]


def pins(lock: str) -> list[Pin]:
    """The packages of a lock, in its order."""
    entries = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)((?:.*\\\n)+.*)", lock, re.M)
    return [Pin(name, version, tuple(re.findall(r"sha256:([0-9a-f]{64})", rest))) for name, version, rest in entries]


def bill(lock: str, project: dict[str, Any]) -> dict[str, Any]:
    """The bill of materials of a lock. The same lock gives the same bill."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, lock)}",
        "version": 1,
        "metadata": {"component": _component(project["name"], project["version"], "application")},
        "components": [
            {
                **_component(pin.name, pin.version, "library"),
                "purl": f"pkg:pypi/{pin.name}@{pin.version}",
                "hashes": [{"alg": "SHA-256", "content": content} for content in pin.hashes],
            }
            for pin in pins(lock)
        ],
    }


def _component(name: str, version: str, kind: str) -> dict[str, Any]:
    return {"type": kind, "bom-ref": f"{name}@{version}", "name": name, "version": version}


def verdict(answer: str) -> tuple[int, str]:
    """What an answer of `pip-audit` means, as the code to end with and a text."""
    try:
        told = json.loads(answer)["dependencies"]
    except (ValueError, KeyError):
        told = []
    if not told:
        return UNKNOWN, "NOT CHECKED: the database of known weaknesses could not be reached."
    weak = [f"{item['name']} {item['version']}: {found['id']}" for item in told for found in item.get("vulns", [])]
    if weak:
        return WEAK, "\n".join(["Known weaknesses:", *weak])
    left = [item["name"] for item in told if "skip_reason" in item]
    if left:
        some = ", ".join(left[:SHOWN]) + (" …" if len(left) > SHOWN else "")
        return UNKNOWN, f"NOT CHECKED: the database of known weaknesses has no answer for {len(left)} of {len(told)} ({some})."
    return SOUND, f"No known weaknesses in {len(told)} packages."


def main() -> int:
    """Writes the bill, asks, and tells."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    BILL.parent.mkdir(exist_ok=True)
    BILL.write_text(json.dumps(bill(LOCK.read_text(), project), indent=1))
    print(f"{BILL.relative_to(ROOT)} lists {len(pins(LOCK.read_text()))} packages.")
    command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "-r", str(LOCK), "-f", "json"]
    asked = subprocess.run(command, capture_output=True, text=True)
    code, text = verdict(asked.stdout)
    print(text, file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
