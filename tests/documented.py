# SPDX-License-Identifier: Apache-2.0
"""The 16 examples of the operator's own documentation, under their documented names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ["EXAMPLES", "Example"]


@dataclass(frozen=True)
class Example:
    """An example: its attributes, and a 2x2 input with its result or a random 2x3x4 one."""

    name: str
    attributes: dict[str, int] = field(hash=False)
    shape: tuple[int, ...]
    """Shape of the result."""
    data: list[list[int]] | None = field(default=None, hash=False)
    """None: random elements of shape (2, 3, 4), uniform in [-10, 10)."""
    result: list[int] | list[list[int]] | None = field(default=None, hash=False)


_FIRST: Final = [[2, 1], [3, 10]]
_LAST: Final = [[2, 2], [3, 10]]

EXAMPLES: Final = (
    Example("test_argmax_no_keepdims_example", {"axis": 1, "keepdims": 0}, (2,), _FIRST, [0, 1]),
    Example("test_argmax_no_keepdims_random", {"axis": 1, "keepdims": 0}, (2, 4)),
    Example(
        "test_argmax_keepdims_example", {"axis": 1, "keepdims": 1}, (2, 1), _FIRST, [[0], [1]]
    ),
    Example("test_argmax_keepdims_random", {"axis": 1, "keepdims": 1}, (2, 1, 4)),
    Example("test_argmax_default_axis_example", {"keepdims": 1}, (1, 2), _FIRST, [[1, 1]]),
    Example("test_argmax_default_axis_random", {"keepdims": 1}, (1, 3, 4)),
    Example(
        "test_argmax_negative_axis_keepdims_example",
        {"axis": -1, "keepdims": 1},
        (2, 1),
        _FIRST,
        [[0], [1]],
    ),
    Example("test_argmax_negative_axis_keepdims_random", {"axis": -1, "keepdims": 1}, (2, 3, 1)),
    Example(
        "test_argmax_no_keepdims_example_select_last_index",
        {"axis": 1, "keepdims": 0, "select_last_index": 1},
        (2,),
        _LAST,
        [1, 1],
    ),
    Example(
        "test_argmax_no_keepdims_random_select_last_index",
        {"axis": 1, "keepdims": 0, "select_last_index": 1},
        (2, 4),
    ),
    Example(
        "test_argmax_keepdims_example_select_last_index",
        {"axis": 1, "keepdims": 1, "select_last_index": 1},
        (2, 1),
        _LAST,
        [[1], [1]],
    ),
    Example(
        "test_argmax_keepdims_random_select_last_index",
        {"axis": 1, "keepdims": 1, "select_last_index": 1},
        (2, 1, 4),
    ),
    Example(
        "test_argmax_default_axis_example_select_last_index",
        {"keepdims": 1, "select_last_index": 1},
        (1, 2),
        _LAST,
        [[1, 1]],
    ),
    Example(
        "test_argmax_default_axis_random_select_last_index",
        {"keepdims": 1, "select_last_index": 1},
        (1, 3, 4),
    ),
    Example(
        "test_argmax_negative_axis_keepdims_example_select_last_index",
        {"axis": -1, "keepdims": 1, "select_last_index": 1},
        (2, 1),
        _LAST,
        [[1], [1]],
    ),
    Example(
        "test_argmax_negative_axis_keepdims_random_select_last_index",
        {"axis": -1, "keepdims": 1, "select_last_index": 1},
        (2, 3, 1),
    ),
)
