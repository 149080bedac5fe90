# SPDX-License-Identifier: Apache-2.0
"""What was built, what of it runs here, and with how many threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onnx_argmax import _native
from onnx_argmax._arguments import thread_count

__all__ = ["BuildInfo", "__version__", "build_info", "get_num_threads", "set_num_threads"]

__version__: Final = _native.version()


@dataclass(frozen=True, slots=True)
class BuildInfo:
    """What :func:`build_info` tells."""

    version: str
    """Version of the package, from ``pyproject.toml``."""
    compiler: str
    """Compiler that built the core, with its version."""
    levels: tuple[str, ...]
    """Instruction-set levels that this machine can run, best first."""
    level: str
    """The level in use: the best, or what ``ONNX_ARGMAX_LEVEL`` names."""
    threads: int
    """Most threads a call uses, as :func:`get_num_threads` gives it."""


def build_info() -> BuildInfo:
    """Version, compiler, instruction-set levels and threads of the core in use.

    Raises
    ------
    ValueError
        When ``ONNX_ARGMAX_LEVEL`` names no level of this machine, or
        ``ONNX_ARGMAX_NUM_THREADS`` is no number of threads; so does every other first use.
    """
    return BuildInfo(
        version=__version__,
        compiler=_native.compiler(),
        levels=tuple(_native.levels()),
        level=_native.get_level(),
        threads=_native.get_num_threads(),
    )


def get_num_threads() -> int:
    """Most threads a call uses unless its ``threads=`` says otherwise.

    ``ONNX_ARGMAX_NUM_THREADS`` where that is set; otherwise the CPUs that the process's
    affinity and its control group's CPU quota allow.
    """
    return _native.get_num_threads()


def set_num_threads(threads: int) -> None:
    """Set what :func:`get_num_threads` gives, for this process.

    Raises
    ------
    TypeError
        When ``threads`` is no integer.
    ValueError
        When ``threads`` is below 1.
    """
    _native.set_num_threads(thread_count(threads))
