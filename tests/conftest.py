# SPDX-License-Identifier: Apache-2.0
"""Fixtures and options of the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from machine import SETTINGS, Setting, running

# ci: the same examples on every run; dev: new ones each time; thorough: many, for a night.
# Chosen by `pytest --hypothesis-profile=NAME`. No deadline: a test must not depend on time.
hypothesis.settings.register_profile("ci", derandomize=True, max_examples=200, deadline=None)
hypothesis.settings.register_profile("dev", max_examples=200, deadline=None)
hypothesis.settings.register_profile("thorough", max_examples=20_000, deadline=None)
hypothesis.settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--large", action="store_true", help="run the tests that need more than 2 GiB of memory"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--large"):
        return
    skip = pytest.mark.skip(reason="needs more than 2 GiB of memory: run pytest --large")
    for item in items:
        if item.get_closest_marker("large"):
            item.add_marker(skip)


@pytest.fixture(params=SETTINGS, ids=str)
def setting(request: pytest.FixtureRequest) -> Iterator[Setting]:
    """Run the test at every level of the machine, on 1, 2 and 7 threads, all work split."""
    with running(request.param) as current:
        yield current
