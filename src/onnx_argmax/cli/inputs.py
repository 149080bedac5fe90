# SPDX-License-Identifier: Apache-2.0
"""The INPUT arguments of ``onnx-argmax run``: what they hold, sorted by what it is for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from onnx_argmax._model_inputs import input_names
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.files import read_npy, read_npz
from onnx_argmax.cli.folder import Expected, read_folder

__all__ = ["Given", "input_files", "read_inputs"]


@dataclass(frozen=True, slots=True)
class Given:
    """What the INPUT arguments hold."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    """Values by the names of the model's inputs, and arrays by the keys to compare with."""
    expected: dict[str, Expected] = field(default_factory=dict[str, Expected])
    """What folders say that outputs should be, by the outputs' names."""


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
    read = [(text, _read_argument(model, text, given.expected)) for text in arguments]
    for argument, values in read:
        for name in values:
            if name in sources:
                raise CommandError(
                    f"{name!r} is given twice, by {sources[name]} and by {argument}; give it once"
                )
            sources[name] = argument
        given.values.update(values)
    for key in compared:
        if key not in given.values:
            raise CommandError(f"--compare: no array {key!r} is given, only {_quoted(sources)}")
    for argument, values in read:
        _refuse_useless(model, argument, values, compared)
    return given


def input_files(arguments: list[str]) -> list[Path]:
    """The files that INPUT arguments name, or may name."""
    parts = (part for text in arguments for part in (text, text.partition("=")[2]))
    return [Path(part) for part in parts if part]


def _read_argument(
    model: onnx.ModelProto, argument: str, expected: dict[str, Expected]
) -> dict[str, Any]:
    path = Path(argument)
    if path.is_dir():
        folder = read_folder(model, path)
        expected.update(folder.expected)
        return folder.inputs
    if path.suffix.lower() == ".npz":
        return dict(read_npz(path))
    name, equals, file = argument.partition("=")
    if path.suffix.lower() == ".npy":
        if name and equals:
            return {name: read_npy(Path(file))}
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
    model: onnx.ModelProto, argument: str, values: dict[str, Any], compared: Collection[str]
) -> None:
    useful = {value.name for value in model.graph.input} | set(compared)
    useless = [name for name in values if name not in useful]
    if not useless and (values or not argument.lower().endswith(".npz")):
        return
    takes = f"the model takes {_quoted(input_names(model))}"
    if len(useless) == len(values):
        raise CommandError(f"{argument}: it names no input: it holds {_quoted(values)}; {takes}")
    raise CommandError(
        f"{argument}: {_quoted(useless)} is no input; {takes}. "
        f"To compare an output with it, add --compare OUTPUT={useless[0]}"
    )


def _quoted(names: Collection[str]) -> str:
    return ", ".join(repr(name) for name in names) or "nothing"
