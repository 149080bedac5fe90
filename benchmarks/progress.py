# SPDX-License-Identifier: Apache-2.0
"""Progress on standard error, where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

__all__ = ["shown"]

Item = TypeVar("Item")


def shown(title: str, items: Sequence[Item], name: Callable[[Item], str] = str) -> Iterator[Item]:
    """Give the items one by one, and show which one it is."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    # Drawn between the items only: a thread that draws would be timed with what it disturbs.
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        disable=not console.is_terminal,
        auto_refresh=False,
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=len(items))
        for item in items:
            bar.update(task, description=f"{title}: {name(item)}", refresh=True)
            yield item
            bar.advance(task)
