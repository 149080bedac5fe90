# SPDX-License-Identifier: Apache-2.0
"""Every case of the contract through every door."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from contract import CASES, Case, Refusal, version_of
from doors import DOORS, ArrayFunction, Door
from onnx_argmax._element_types import ELEMENT_TYPES, element_type_of_dtype
from oracle import Array, oracle_argmax, outcome, same_outcome

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def check(door: Door, case: Case, folder: Path) -> None:
    """Run a case and compare: result with shape and dtype, or error with its words."""
    expected = door.expected(case)
    if expected is None:
        return
    before = case.data.tobytes()
    if isinstance(expected, Refusal):
        with pytest.raises(expected.error) as caught:
            door.run(case, folder)
        for word in expected.words:
            assert word in str(caught.value)
    else:
        found = door.run(case, folder)
        assert same_outcome(found, expected), f"{found!r} instead of {expected!r}"
    assert case.data.tobytes() == before


@pytest.mark.parametrize("door", DOORS[1:], ids=lambda door: door.name)
@every_case
def test_door(case: Case, door: Door, tmp_path: Path) -> None:
    check(door, case, tmp_path)


@pytest.mark.usefixtures("setting")
@every_case
def test_array_function(case: Case) -> None:
    check(ArrayFunction(), case, Path())  # needs no files


# The table itself.


def test_identifiers_are_unique() -> None:
    assert [name for name, times in Counter(map(str, CASES)).items() if times > 1] == []


def test_the_oracle_gives_every_answer() -> None:
    for case in CASES:
        arguments = {k: v for k, v in case.attributes.items() if k != "axes"}
        given: Array | Refusal = case.outcome
        if case.without_versions is not None:
            given = case.without_versions
        elif "axes" in case.attributes:
            continue
        expected = given.error if isinstance(given, Refusal) else given
        found = outcome(lambda: oracle_argmax(case.data, **arguments))  # noqa: B023
        assert same_outcome(found, expected), case


def test_every_type_of_every_version_is_there() -> None:
    answered = {
        (version_of(case.opset), element_type_of_dtype(case.data.dtype))
        for case in CASES
        if isinstance(case.outcome, np.ndarray)
    }
    refused = {
        (version_of(case.opset), element_type_of_dtype(case.data.dtype))
        for case in CASES
        if isinstance(case.outcome, Refusal) and case.outcome.error is TypeError
    }
    for version in (1, 11, 12, 13):
        for element_type in ELEMENT_TYPES:
            taken = (element_type.since_version or 0) <= version
            assert ((version, element_type) in answered) is taken
            assert ((version, element_type) in refused) is not taken
