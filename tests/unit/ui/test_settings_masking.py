from __future__ import annotations

import pytest

from calve.ui.views.settings.masking import HIDDEN, mask_url, mask_value


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://calve:p:w/x@db/state", f"postgresql+psycopg://calve:{HIDDEN}@db/state"),
        ("postgresql://calve@db/state", "postgresql://calve@db/state"),
        ("sqlite:////home/state.db", "sqlite:////home/state.db"),
        ("sc://host:15002/;token=abc;use_ssl=true", f"sc://host:15002/;token={HIDDEN};use_ssl=true"),
        (
            "postgresql://db/state?password=x&sslmode=on",
            f"postgresql://db/state?password={HIDDEN}&sslmode=on",
        ),
    ],
)
def test_addresses_are_shown_without_their_secrets(url: str, shown: str) -> None:
    assert mask_url(url) == shown


@pytest.mark.parametrize(
    "name", ["token", "s3.secret-access-key", "credential", "Password", "adls.sas-token.x"]
)
def test_values_whose_names_sound_secret_are_hidden(name: str) -> None:
    assert mask_value(name, "x") == HIDDEN
    assert mask_value(name, "${VARIABLE}") == "${VARIABLE}"
