# SPDX-License-Identifier: Apache-2.0
"""What every part of the benchmark gives to the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tables import Table

__all__ = ["Part"]


@dataclass(frozen=True)
class Part:
    """One part's outcome."""

    name: str
    data: object
    """For JSON."""
    tables: tuple[Table, ...]
    draw: Callable[[Path, str], None] | None = None
    """Draws the picture to a path, with a caption; None where there is nothing to draw."""
