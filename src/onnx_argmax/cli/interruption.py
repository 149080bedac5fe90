# SPDX-License-Identifier: Apache-2.0
"""Signals that ask the command to end, as exceptions."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from onnx_argmax.cli.errors import CommandError

__all__ = ["BrokenOffError", "Stopped", "raised_signals"]

_ENDING: Final = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""Signals that ask for an end, with how they are handled where nobody chose another way."""


class Stopped(BaseException):
    """A signal asked for an end. Like KeyboardInterrupt, no error that could be dealt with."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class BrokenOffError(CommandError):
    """The command was stopped; the message says where it stood."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.status = 128 + number  # as shells have it


@contextmanager
def raised_signals() -> Generator[Callable[[], None]]:
    """Raise :class:`Stopped` for the first signal that asks for an end; further ones are ignored.

    So what was begun is put away in order. A signal that the process ignores, as in the
    background of a shell, stays ignored. The function that is given makes all of them ignored
    from then on: for what must not be left half done.
    """
    ignored = False

    def ignore() -> None:
        nonlocal ignored
        ignored = True

    def stop(number: int, frame: FrameType | None) -> None:
        if not ignored:
            ignore()
            raise Stopped(number)

    # Python hands signals to the main thread, and lets that alone say how they are handled.
    in_main = threading.current_thread() is threading.main_thread()
    before = {
        number: usual
        for number, usual in _ENDING.items()
        if in_main and signal.getsignal(number) == usual
    }
    try:
        for number in before:
            signal.signal(number, stop)
        yield ignore
    finally:
        ignore()
        for number, handler in before.items():
            signal.signal(number, handler)
