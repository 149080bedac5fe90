# SPDX-License-Identifier: Apache-2.0
"""The command ``onnx-argmax``; Typer and Rich are imported in here alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from onnx_argmax.cli.errors import INTERRUPTED, message_of, report

__all__ = ["main"]


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
        error; 130 after Ctrl-C, with one too.
    """
    try:
        try:
            from onnx_argmax.cli.app import call
        except ImportError as error:  # Typer is not there, for example
            report(message_of(error))
            return 1
        if arguments is None:
            return call(sys.argv[1:], ends_process=True)
        return call(list(arguments))
    except KeyboardInterrupt:
        report("interrupted by SIGINT")
        return INTERRUPTED
