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

from onnx_argmax._model_inputs import check_inputs
from onnx_argmax._model_scopes import argmax_nodes, model_scopes
from onnx_argmax._models import load_model
from onnx_argmax.cli.compare import agreement, difference, is_array
from onnx_argmax.cli.errors import CommandError
from onnx_argmax.cli.evaluation import REFERENCE, Evaluation, chosen_runtime, has_onnxruntime
from onnx_argmax.cli.folder import Expected
from onnx_argmax.cli.inputs import input_files, read_inputs
from onnx_argmax.cli.outputs import check_writable, write_npy, write_npz
from onnx_argmax.cli.standard_error import without_stderr
from onnx_argmax.cli.standard_output import check_open
from onnx_argmax.cli.tables import Cell, Values, show_line, show_table
from onnx_argmax.operator import version_for_opset

__all__ = ["RunJob", "run_model"]


_ELEMENTS: Final = 3
"""Elements of a sequence that are shown."""


_LEAST_PERCENT: Final = 0.1

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
    runtime: str | None = None
    """One of ``RUNTIMES``; None for the best that is installed."""
    threads: int | None = None
    profile: bool = False


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
    runtime = chosen_runtime(job.runtime)
    with warnings.catch_warnings(action="ignore"):  # that a text format is experimental
        # ONNX Runtime itself reads what is too large to be handed over to it.
        model = load_model(job.model, more_than_a_message=runtime == REFERENCE)
    names = [value.name for value in model.graph.output]
    if job.output is not None:
        _check_holds(job.output, model)
    compared = [_comparison(text, names) for text in job.compare]
    given = read_inputs(model, job.inputs, {key for _, key in compared})
    takes = {value.name for value in model.graph.input}
    inputs = check_inputs(model, {n: v for n, v in given.values.items() if n in takes})

    nodes = _rows_of_nodes(model)
    evaluation = _evaluate(job, runtime, model, inputs)
    results = evaluation.outputs

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
    show_line(_runtime_words(job, evaluation))
    _show_nodes(nodes, evaluation)
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


def _evaluate(
    job: RunJob, runtime: str, model: onnx.ModelProto, inputs: dict[str, Any]
) -> Evaluation:
    if runtime == REFERENCE:
        from onnx_argmax.cli.on_reference import run_on_reference as run
    else:
        with without_stderr():
            from onnx_argmax.cli.on_onnxruntime import run_on_onnxruntime as run
    return run(job.model, model, inputs, threads=job.threads, profile=job.profile)


def _write(path: Path, results: dict[str, Any]) -> None:
    arrays = {name: np.asarray(value) for name, value in results.items()}
    if path.suffix.lower() == ".npy":
        write_npy(path, *arrays.values())
    else:
        write_npz(path, arrays)


def _runtime_words(job: RunJob, evaluation: Evaluation) -> str:
    chosen = job.runtime is not None or has_onnxruntime()
    reason = "" if chosen else ", as onnxruntime is not installed"
    took = f", {evaluation.seconds * 1e3:.3f} ms" if evaluation.seconds is not None else ""
    return f"Run by {evaluation.runtime}{reason}{took}.\n"


def _rows_of_nodes(model: onnx.ModelProto) -> list[tuple[str, ...]]:
    return [
        (
            found.label,
            found.scope.place,
            str(opset := found.scope.opset or 1),
            str(version_for_opset(opset).since_version),
        )
        for found in argmax_nodes(model_scopes(model))
    ]


def _show_nodes(nodes: list[tuple[str, ...]], evaluation: Evaluation) -> None:
    if not nodes:
        show_line("The model has no ArgMax node.")
        return
    columns = ("node", "in", "opset", "version", "run by")
    rows = [(*row, run.by) for row, run in zip(nodes, evaluation.nodes, strict=True)]
    if evaluation.seconds is not None:
        columns = (*columns, "time")
        shares = [_share(run.seconds, evaluation.seconds) for run in evaluation.nodes]
        rows = [(*row, share) for row, share in zip(rows, shares, strict=True)]
    show_table("ArgMax nodes", columns, rows)


def _share(seconds: float | None, total: float) -> str:
    """Part of the whole model's time, in words."""
    if seconds is None:
        return "did not run"
    percent = 100 * seconds / total if total else 0
    return f"{percent:.1f} %" if percent >= _LEAST_PERCENT else f"below {_LEAST_PERCENT} %"


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
