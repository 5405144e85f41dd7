"""The object store that tests of the lake share."""

from collections.abc import Iterator

import pytest

from tests.support.object_store import object_store, require_moto


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables of an object store on this machine, which this process has as well."""
    require_moto()
    with object_store(tmp_path_factory.mktemp("object-store")) as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables
