# SPDX-License-Identifier: Apache-2.0
"""The command ``onnx-argmax``; Typer and Rich are imported in here alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from onnx_argmax.cli.errors import message_of, report

__all__ = ["main"]

_INTERRUPTED = 130
"""Exit status of a command that Ctrl-C ended: 128 and the number of SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; by default that of this process.

    Returns
    -------
    int
        0 on success; 2 on wrong use, 1 on any other error, each with one line on standard
        error; 130 after Ctrl-C.
    """
    try:
        try:
            from onnx_argmax.cli.app import call
        except ImportError as error:  # Typer is not there, for example
            report(message_of(error))
            return 1
        return call(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        return _INTERRUPTED
