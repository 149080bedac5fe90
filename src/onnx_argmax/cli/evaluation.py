# SPDX-License-Identifier: Apache-2.0
"""A model's run, whatever runtime it was on: the outputs, and what ran each ArgMax."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from onnx_argmax.cli.errors import CommandError

__all__ = [
    "ONNXRUNTIME",
    "REFERENCE",
    "RUNTIMES",
    "Evaluation",
    "NodeRun",
    "chosen_runtime",
    "has_onnxruntime",
]

ONNXRUNTIME: Final = "onnxruntime"
REFERENCE: Final = "reference"
RUNTIMES: Final = (ONNXRUNTIME, REFERENCE)


@dataclass(frozen=True, slots=True)
class NodeRun:
    """What became of one ArgMax."""

    by: str
    """What ran it, in words; or that nothing did, and why."""
    seconds: float | None = None
    """Time it took, all of its runs together; None where it was not measured or never ran."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A model's run."""

    outputs: dict[str, Any]
    runtime: str
    """The runtime, in words."""
    nodes: list[NodeRun]
    """One for each ArgMax, in the order of ``argmax_nodes``."""
    seconds: float | None = None
    """Time of the whole model; None where it was not measured."""


def chosen_runtime(asked: str | None) -> str:
    """The runtime that was asked for; onnxruntime where it is installed if none was.

    Raises
    ------
    CommandError
        When onnxruntime was asked for and is not installed.
    """
    installed = has_onnxruntime()
    if asked == ONNXRUNTIME and not installed:
        raise CommandError(
            "--runtime onnxruntime: it is not installed; run: "
            'pip install "onnx-argmax[cli,onnx,onnxruntime]", or use --runtime reference'
        )
    return asked or (ONNXRUNTIME if installed else REFERENCE)


def has_onnxruntime() -> bool:
    """Whether onnxruntime is installed, without importing it."""
    return find_spec(ONNXRUNTIME) is not None
