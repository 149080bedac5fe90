# SPDX-License-Identifier: Apache-2.0
"""The INPUT arguments of ``onnx-argmax run``: what they hold, sorted by what it is for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from onnx_argmax._model_inputs import input_names
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.files import names_in_npz, read_npy, read_npz
from onnx_argmax.cli.folder import Expected, read_folder

__all__ = ["Given", "input_files", "read_inputs"]


@dataclass(frozen=True, slots=True)
class Given:
    """What the INPUT arguments hold."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    """Values by the names of the model's inputs, and arrays by the keys to compare with."""
    expected: dict[str, Expected] = field(default_factory=dict[str, Expected])
    """What folders say that outputs should be, by the outputs' names."""


@dataclass(frozen=True, slots=True)
class _Argument:
    """What an INPUT argument holds by name, which is looked at before anything is read."""

    text: str
    names: list[str]
    read: Callable[[], dict[str, Any]]


def read_inputs(model: onnx.ModelProto, arguments: list[str], compared: Collection[str]) -> Given:
    """Read every INPUT argument.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, for the names and order of its inputs and outputs.
    arguments : list of str
        Each ``FILE.npz``, ``NAME=FILE.npy`` or a folder.
    compared : collection of str
        Keys of arrays that are compared with outputs, and so need not be inputs.

    Raises
    ------
    CommandError
        For what is missing, unreadable, given twice, or of no use to the model.
    """
    given = Given()
    sources: dict[str, str] = {}
    opened = [_argument(model, text, given.expected) for text in arguments]
    for argument in opened:
        for name in argument.names:
            if name in sources:
                raise CommandError(
                    f"{name!r} is given twice, by {sources[name]} and by {argument.text}; "
                    "give it once"
                )
            sources[name] = argument.text
    for key in compared:
        if key not in sources:
            raise CommandError(f"--compare: no array {key!r} is given, only {_quoted(sources)}")
    for argument in opened:
        _refuse_useless(model, argument, compared)
    for argument in opened:
        given.values.update(argument.read())
    return given


def input_files(arguments: list[str]) -> list[Path]:
    """The files that INPUT arguments name, or may name."""
    parts = (part for text in arguments for part in (text, text.partition("=")[2]))
    return [Path(part) for part in parts if part]


def _argument(model: onnx.ModelProto, argument: str, expected: dict[str, Expected]) -> _Argument:
    path = Path(argument)
    if path.is_dir():
        folder = read_folder(model, path)
        expected.update(folder.expected)
        return _Argument(argument, list(folder.inputs), lambda: folder.inputs)
    if path.suffix.lower() == ".npz":
        names = names_in_npz(path)
        return _Argument(argument, names, lambda: dict(read_npz(path, names)))
    name, equals, file = argument.partition("=")
    if path.suffix.lower() == ".npy":
        if name and equals:
            return _Argument(argument, [name], lambda: {name: read_npy(Path(file))})
        raise CommandError(
            f"{argument}: say which input the file is for, as NAME={argument}; "
            f"the model takes {_quoted(input_names(model))}"
        )
    if not path.exists():
        raise CommandError(f"{argument}: no such file or folder")
    raise CommandError(
        f"{argument}: not taken as input; allowed are FILE.npz, NAME=FILE.npy, and a folder "
        "with input_0.pb and so on"
    )


def _refuse_useless(
    model: onnx.ModelProto, argument: _Argument, compared: Collection[str]
) -> None:
    useful = {value.name for value in model.graph.input} | set(compared)
    useless = [name for name in argument.names if name not in useful]
    if not useless and (argument.names or not argument.text.lower().endswith(".npz")):
        return
    takes = f"the model takes {_quoted(input_names(model))}"
    if len(useless) == len(argument.names):
        raise CommandError(
            f"{argument.text}: it names no input: it holds {_quoted(argument.names)}; {takes}"
        )
    raise CommandError(
        f"{argument.text}: {_quoted(useless)} is no input; {takes}. "
        f"To compare an output with it, add --compare OUTPUT={useless[0]}"
    )


def _quoted(names: Collection[str]) -> str:
    return ", ".join(repr(name) for name in names) or "nothing"
