# SPDX-License-Identifier: Apache-2.0
"""What ends the access of threads to memory that is the caller's again."""

from __future__ import annotations

import threading

__all__ = ["Gate", "ShutError"]


class ShutError(Exception):
    """The walk was ended meanwhile."""


class Gate:
    """Lets workers through to what they share with the caller, until it is shut.

    A reader may hang in the storage, and a second Ctrl-C ends the waiting for it. What it brings
    then comes too late: the memory of the result is the caller's again.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_shut = False

    def __enter__(self) -> None:
        with self._changed:
            self.check()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def check(self) -> None:
        """End a worker that is inside, as soon as it has left no write half done."""
        if self._is_shut:
            raise ShutError

    def shut(self) -> None:
        """Let nobody in any more, and wait for those inside, whatever interrupts this.

        They are at work in memory, or write one box.
        """
        interrupt: BaseException | None = None
        while True:
            try:
                self._is_shut = True
                with self._changed:
                    while self._inside:
                        self._changed.wait()
                break
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
