# SPDX-License-Identifier: Apache-2.0
"""Folders in the layout of ONNX's own test data: ``input_0.pb``, ``output_0.pb`` and so on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import onnx
import onnx.numpy_helper

from onnx_argmax._files import read_file
from onnx_argmax._model_inputs import input_names
from onnx_argmax.cli.errors import CommandError, message_of

__all__ = ["Expected", "Folder", "read_folder"]

_FILE: Final = re.compile(r"(?P<kind>input|output)_(?P<number>0|[1-9][0-9]*)\.pb")
_Named: TypeAlias = list[tuple[str, onnx.TypeProto]]


@dataclass(frozen=True, slots=True)
class Expected:
    """What an output should be."""

    file: Path
    value: Any


@dataclass(frozen=True, slots=True)
class Folder:
    """What such a folder holds, by the model's names."""

    inputs: dict[str, Any]
    expected: dict[str, Expected]


def read_folder(model: onnx.ModelProto, folder: Path) -> Folder:
    """Read the inputs, and the outputs where they are there.

    The number in a file's name is the place in the model's list of inputs (those without an
    initializer) or outputs, as in ONNX's own test runner.

    Raises
    ------
    CommandError
        For a folder without ``input_0.pb``, a gap in the numbers or more files than the model
        has inputs or outputs, a file that is no value of ONNX's, and a tensor whose own name is
        that of another input or output than its file's.
    """
    needed = set(input_names(model))
    inputs = [(v.name, v.type) for v in model.graph.input if v.name in needed]
    outputs = [(v.name, v.type) for v in model.graph.output]
    input_files = _numbered(folder, "input", len(inputs))
    if not input_files and inputs:
        raise CommandError(
            f"{folder}: no input_0.pb in this folder, and so none of the model's inputs: "
            f"{', '.join(repr(name) for name, _ in inputs)}"
        )
    output_files = _numbered(folder, "output", len(outputs))
    return Folder(
        {inputs[i][0]: _read(file, i, inputs) for i, file in enumerate(input_files)},
        {
            outputs[i][0]: Expected(file, _read(file, i, outputs))
            for i, file in enumerate(output_files)
        },
    )


def _numbered(folder: Path, kind: str, most: int) -> list[Path]:
    numbers = sorted(
        int(match["number"])
        for path in folder.iterdir()
        if (match := _FILE.fullmatch(path.name)) and match["kind"] == kind
    )
    if numbers != list(range(len(numbers))):
        missing = next(i for i in range(len(numbers)) if i not in numbers)
        raise CommandError(
            f"{folder}: {kind}_{numbers[-1]}.pb is there, {kind}_{missing}.pb is not"
        )
    if len(numbers) > most:
        raise CommandError(
            f"{folder}: {kind}_{numbers[-1]}.pb is there, but the model has {most} {kind}s"
        )
    return [folder / f"{kind}_{number}.pb" for number in numbers]


def _read(file: Path, place: int, declared: _Named) -> Any:
    name, declared_type = declared[place]
    value = _message_for(declared_type)
    content = read_file(file)
    try:
        value.ParseFromString(content)
        array = _value_of(value)
    except Exception as error:  # a number or a name in it may lead to any of Python's own
        raise CommandError(
            f"{file}: not a {type(value).__name__} of ONNX, or truncated: {message_of(error)}"
        ) from error
    if value.name != name and value.name in [other for other, _ in declared]:
        raise CommandError(
            f"{file}: by its number it is {name!r}, by the name inside it {value.name!r}; "
            "rename the file or the tensor"
        )
    return array


def _message_for(declared: onnx.TypeProto) -> Any:
    match declared.WhichOneof("value"):
        case "sequence_type":
            return onnx.SequenceProto()
        case "optional_type":
            return onnx.OptionalProto()
        case _:
            return onnx.TensorProto()


def _value_of(value: Any) -> Any:
    if isinstance(value, onnx.SequenceProto):
        return onnx.numpy_helper.to_list(value)
    if isinstance(value, onnx.OptionalProto):
        return onnx.numpy_helper.to_optional(value)
    return onnx.numpy_helper.to_array(value)
