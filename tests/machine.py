# SPDX-License-Identifier: Apache-2.0
"""The levels and thread counts on which every test of the semantics runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import onnx_argmax
from onnx_argmax import _native

__all__ = ["LEVELS", "SETTINGS", "THREADS", "Setting", "every_setting", "running"]

LEVELS: Final = tuple(_native.levels())
"""The levels this machine can run, best first."""

THREADS: Final = (1, 2, 7)
"""One; the fewest that must merge; an odd number that divides nothing evenly."""


@dataclass(frozen=True)
class Setting:
    """A level and a number of threads."""

    level: str
    threads: int

    def __str__(self) -> str:
        return f"{self.level}-{self.threads}_threads"


SETTINGS: Final = tuple(Setting(level, threads) for level in LEVELS for threads in THREADS)


@contextmanager
def running(setting: Setting) -> Iterator[Setting]:
    """Run at a setting, and split even the smallest work over its threads."""
    level, threads = _native.get_level(), onnx_argmax.get_num_threads()
    _native.set_level(setting.level)
    onnx_argmax.set_num_threads(setting.threads)
    _native.set_grain_bytes(1)
    try:
        yield setting
    finally:
        _native.set_grain_bytes(0)  # the default
        onnx_argmax.set_num_threads(threads)
        _native.set_level(level)


def every_setting() -> Iterator[Setting]:
    """Run a loop's body at every setting; for tests that draw one input for all of them."""
    for setting in SETTINGS:
        with running(setting):
            yield setting
