"""What a tenant does with the generated client: calls operations with a login. And the page that tells how it is generated."""

import base64
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "tenants.md"
CHAPTER = "## A client in your language"


def block(language: str) -> str:
    """The code of this language in the chapter about clients."""
    chapter = PAGE.read_text().split(CHAPTER)[1].split("\n## ")[0]
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", chapter, re.M | re.S)
    return str(found)


@dataclass(frozen=True)
class Caller:
    """Calls operations of the generated client with one login."""

    client: Any

    def __call__(self, operation: str, *path: str, **given: Any) -> Any:
        """The detailed answer of an operation, named by its chapter and id."""
        return import_module(f"kontor_client.api.{operation}").sync_detailed(*path, client=self.client, **given)

    def read(self, operation: str, *path: str, **given: Any) -> Any:
        """The parsed body of an answer of 200."""
        answer = self(operation, *path, **given)
        assert answer.status_code == 200, answer.content
        return answer.parsed


@dataclass(frozen=True)
class Generated:
    """The package that was generated."""

    folder: Path
    base_url: str

    @property
    def models(self) -> Any:
        return import_module("kontor_client.models")

    def by_basic(self, name: str, secret: str) -> Caller:
        """A client of a tenant, which asks for tokens."""
        return self._caller(base64.b64encode(f"{name}:{secret}".encode()).decode(), prefix="Basic")

    def by_token(self, token: str) -> Caller:
        return self._caller(token)

    def by_nothing(self) -> Caller:
        return Caller(import_module("kontor_client").Client(base_url=self.base_url))

    def _caller(self, token: str, **about: str) -> Caller:
        made = import_module("kontor_client").AuthenticatedClient
        return Caller(made(base_url=self.base_url, token=token, timeout=60, raise_on_unexpected_status=True, **about))
