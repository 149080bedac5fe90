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

__all__ = ["BrokenOffError", "Stopped", "held_signals", "raised_signals"]

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


class _Handler:
    """Raises for the first signal alone, and not while it is held."""

    def __init__(self) -> None:
        self._ignores = False
        self._holders = 0
        self._came: int | None = None

    def ignore(self) -> None:
        """Do nothing from now on."""
        self._ignores = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self._ignores:
            return
        self.ignore()
        if self._holders:
            self._came = number
        else:
            raise Stopped(number)

    @contextmanager
    def held(self) -> Generator[None]:
        """Raise what comes meanwhile at the end."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if self._came is not None and not self._holders:
                number, self._came = self._came, None
                raise Stopped(number)


_handlers: list[_Handler] = []
"""Those of this process's main thread; the last one is at work."""


@contextmanager
def raised_signals(*, ends_process: bool = False) -> Generator[Callable[[], None]]:
    """Raise :class:`Stopped` for the first signal that asks for an end; further ones are ignored.

    So what was begun is put away in order. A signal that the process ignores, as in the
    background of a shell, stays ignored. The function that is given makes all of them ignored
    from then on: for what must not be left half done.

    Parameters
    ----------
    ends_process
        Whether the process ends with what runs within. Where that function was called, and all
        went well, they stay ignored: the end takes a while, and a process whose work is done is
        not to tell of a failure.
    """
    handler = _Handler()
    done = False

    def ignore() -> None:
        nonlocal done
        handler.ignore()
        done = True

    # Python hands signals to the main thread, and lets that alone say how they are handled.
    in_main = threading.current_thread() is threading.main_thread()
    before = {
        number: usual
        for number, usual in _ENDING.items()
        if in_main and signal.getsignal(number) == usual
    }
    if in_main:
        _handlers.append(handler)
    try:
        for number in before:
            signal.signal(number, handler)
        yield ignore
    except BaseException:
        done = False
        raise
    finally:
        handler.ignore()
        if in_main:
            _handlers.remove(handler)
        for number, usual in before.items():
            signal.signal(number, signal.SIG_IGN if done and ends_process else usual)


@contextmanager
def held_signals() -> Generator[None]:
    """Within :func:`raised_signals`, raise a signal that comes meanwhile only at the end.

    For what is short and would leave something behind: a file that nobody knows of yet, a task of
    Zarr's whose caller is gone.
    """
    if not _handlers or threading.current_thread() is not threading.main_thread():
        yield
        return
    with _handlers[-1].held():
        yield
