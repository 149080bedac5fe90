# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax run``: a model on inputs from files."""

from __future__ import annotations

import reprlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import onnx

from onnx_argmax import build_info
from onnx_argmax._model_inputs import check_inputs
from onnx_argmax._models import load_model
from onnx_argmax.backend import PreparedModel
from onnx_argmax.cli.compare import agreement, difference, is_array
from onnx_argmax.cli.errors import CommandError, message_of
from onnx_argmax.cli.folder import Expected
from onnx_argmax.cli.inputs import input_files, read_inputs
from onnx_argmax.cli.nodes import ArgMaxNode, argmax_nodes
from onnx_argmax.cli.outputs import check_writable, write_npy, write_npz
from onnx_argmax.cli.standard_output import check_open
from onnx_argmax.cli.tables import Cell, Values, show_line, show_table

__all__ = ["RunJob", "run_model"]


_ELEMENTS: Final = 3
"""Elements of a sequence that are shown."""


_LONGEST_NAME: Final = 2**16 - 1 - len(".npy")
"""Bytes of an output's name: a zip archive counts those of a member's in 16 bits."""


@dataclass(frozen=True, slots=True)
class RunJob:
    """What ``onnx-argmax run`` was asked for."""

    model: Path
    inputs: list[str]
    output: Path | None
    compare: list[str]
    """Each ``OUTPUT=KEY``, or one name for both."""


def run_model(job: RunJob) -> None:
    """Run the model, write the outputs where asked, and print what came out and what ran.

    Raises
    ------
    CommandError
        For anything about the model, the inputs or the output path that cannot be used, and
        when an output differs from the one that a folder expects.
    """
    if job.output is not None:
        check_writable(job.output, keep=[job.model, *input_files(job.inputs)])
    if job.output is None or job.compare:
        check_open()
    with warnings.catch_warnings(action="ignore"):  # that a text format is experimental
        model = load_model(job.model)
    names = [value.name for value in model.graph.output]
    if job.output is not None:
        _check_holds(job.output, model)
    compared = [_comparison(text, names) for text in job.compare]
    given = read_inputs(model, job.inputs, {key for _, key in compared})
    takes = {value.name for value in model.graph.input}
    inputs = check_inputs(model, {n: v for n, v in given.values.items() if n in takes})

    # Asked before the run, as an environment variable that is no good is found out here.
    level = build_info().level
    results = _evaluate(job.model, model, inputs)

    agreements = [
        agreement(output, results[output], key, given.values[key]) for output, key in compared
    ]
    differences = {
        output: found
        for output, expected in given.expected.items()
        if (found := difference(results[output], expected.value)) is not None
    }
    if job.output is not None:
        _write(job.output, results)
    _show_nodes(argmax_nodes(model), level)
    _show_outputs(results, given.expected, differences)
    for line in agreements:
        show_line(line)
    if job.output is not None:
        show_line(f"written to {job.output}")
    if differences:
        output, found = next(iter(differences.items()))
        raise CommandError(
            f"{len(differences)} of {len(given.expected)} outputs are not as expected: "
            f"{output!r} differs from {given.expected[output].file}: {found}"
        )


def _comparison(text: str, outputs: list[str]) -> tuple[str, str]:
    if text in outputs:
        return text, text
    output, _, key = text.partition("=")
    if output not in outputs or not key:
        raise CommandError(
            f"--compare {text}: OUTPUT or OUTPUT=KEY is needed; the model's outputs are "
            f"{', '.join(map(repr, outputs))}"
        )
    return output, key


def _check_holds(path: Path, model: onnx.ModelProto) -> None:
    """Whether a file of that kind can hold the model's outputs."""
    outputs = model.graph.output
    if path.suffix.lower() == ".npz":
        _check_members(path, [value.name for value in outputs])
    elif len(outputs) != 1:
        raise CommandError(
            f"--output: {path}: a .npy file holds one array, the model has {len(outputs)} "
            f"outputs ({', '.join(repr(value.name) for value in outputs)}); write a .npz"
        )
    for value in outputs:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise CommandError(
                f"--output: {path}: output {value.name!r} is a {str(kind).removesuffix('_type')}, "
                "not an array, so no file of NumPy's can hold it; leave --output out to see it"
            )


def _check_members(path: Path, names: list[str]) -> None:
    """Whether each name makes a member of a .npz that is found again by that name."""
    found: set[str] = set()
    for name in names:
        if "\0" in name or len(name.encode()) > _LONGEST_NAME:
            raise CommandError(
                f"--output: {path}: output {reprlib.repr(name)} cannot be the name of an array in "
                f"a .npz, which takes up to {_LONGEST_NAME} bytes without a NUL; rename it in the "
                "model"
            )
        # NumPy takes the name of a member with and without its suffix.
        both = {name, f"{name}.npy"}
        if found & both:
            raise CommandError(
                f"--output: {path}: another output would have the same name in a .npz as "
                f"{name!r}; rename it in the model"
            )
        found |= both


def _evaluate(path: Path, model: onnx.ModelProto, inputs: dict[str, Any]) -> dict[str, Any]:
    try:
        prepared = PreparedModel(model)
        # What overflows or is no number is an answer in ONNX, nothing to warn of.
        with np.errstate(all="ignore"):
            results = prepared.run(inputs)
    except Exception as error:
        raise CommandError(f"{path}: the model failed as it ran: {message_of(error)}") from error
    return dict(zip(prepared.output_names, results, strict=True))


def _write(path: Path, results: dict[str, Any]) -> None:
    arrays = {name: np.asarray(value) for name, value in results.items()}
    if path.suffix.lower() == ".npy":
        write_npy(path, *arrays.values())
    else:
        write_npz(path, arrays)


def _show_nodes(nodes: list[ArgMaxNode], level: str) -> None:
    if not nodes:
        show_line("The model has no ArgMax node.")
        return
    show_table(
        "ArgMax nodes",
        ("node", "in", "opset", "version", "run by"),
        [
            (
                node.name,
                node.place,
                str(node.opset),
                str(node.version.since_version),
                f"onnx_argmax.reference, level {level}",
            )
            for node in nodes
        ],
    )


def _show_outputs(
    results: dict[str, Any], expected: dict[str, Expected], differences: dict[str, str]
) -> None:
    columns = ("output", "type", "shape", "values") + (("expected",) if expected else ())
    rows: list[tuple[Cell, ...]] = []
    for name, value in results.items():
        verdict = "different from" if name in differences else "equal to"
        against = f"{verdict} {expected[name].file.name}" if name in expected else ""
        rows.append((name, *_cells(value), against)[: len(columns)])
    show_table("Outputs", columns, rows)


def _cells(value: Any) -> tuple[str, str, Cell]:
    """Type, shape and values of an output."""
    if is_array(value):
        array: np.ndarray[Any, Any] = np.asarray(value)
        return str(array.dtype), str(array.shape), Values(array)
    if isinstance(value, list):
        elements = cast("list[Any]", value)
        start = ", ".join(str(element) for element in elements[:_ELEMENTS])
        more = ", ..." if len(elements) > _ELEMENTS else ""
        return "sequence", f"{len(elements)} elements", f"[{start}{more}]"
    return ("optional", "", "nothing") if value is None else (type(value).__name__, "", str(value))
