# SPDX-License-Identifier: Apache-2.0
"""How far the command is, as a bar on a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, TextIO, cast

from rich import progress as rich_progress
from rich.console import Console

from onnx_argmax.cli.errors import printable
from onnx_argmax.outofcore import Progress

__all__ = ["ProgressBar"]

_SILENT_SECONDS: Final = 1.0
"""What takes less shows no bar, which would only flicker."""


class ProgressBar:
    """A bar on standard error: bytes done of all, rate, time left.

    None where standard error is no terminal. It is called with each :class:`Progress`.
    """

    def __init__(self, what: str) -> None:
        stream = cast("TextIO | None", sys.stderr)  # None where it is closed
        self._console = Console(stderr=True) if stream is not None and stream.isatty() else None
        self._what = printable(what)
        self._begun = time.monotonic()
        self._bar: rich_progress.Progress | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Show how far it is."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=progress.bytes_done)
        elif self._console is not None and time.monotonic() - self._begun >= _SILENT_SECONDS:
            self._bar = rich_progress.Progress(
                rich_progress.TextColumn("{task.description}", markup=False),
                rich_progress.BarColumn(),
                rich_progress.DownloadColumn(binary_units=True),
                rich_progress.TransferSpeedColumn(),
                rich_progress.TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.add_task(self._what, total=progress.bytes, completed=progress.bytes_done)
            self._bar.start()
