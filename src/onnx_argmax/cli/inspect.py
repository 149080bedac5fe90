# SPDX-License-Identifier: Apache-2.0
"""``onnx-argmax inspect``: every ArgMax of a model, and who could run it.

With ``--json`` it prints an object with these keys, which later releases keep and may add to:

``model``, ``ir_version``, ``opsets``
    The path, the IR version, and the imported operator sets by domain.
``argmax``
    A list with an object for each ArgMax; one in a function has an object for each way in which
    the function is called.

In the latter:

``name``, ``position``, ``in``, ``function``
    Of the node (empty where it has none), its place among the nodes of its graph or function,
    where that lies, and the name of the model-local function around it or null.
``called``
    False where the node is in a function that nothing calls.
``opset``, ``version``
    Of the operator set and of the operator; null where there is none.
``attributes``, ``attributes_set``, ``attributes_of_caller``
    Every attribute of the version with its value (null where only a call would tell; empty where
    they are invalid), those that are set, and the names of those left to a caller.
``input``, ``output``
    Objects with ``name``, ``type`` (``"tensor(float)"``, null where unknown) and ``shape``: a list
    of lengths, names, and null where unknown; null as a whole where the rank is unknown.
``producer``, ``consumers``
    An object, and a list of them, with ``kind`` (``"node"``, ``"input"``, ``"initializer"``,
    ``"input with initializer"``, ``"output"``, ``"nothing"``), ``operator``, ``name`` and ``in``.
``problems``
    A list of what makes the node invalid, in words.
``cpu_provider``, ``onnx_argmax``
    Whether ONNX Runtime's CPU provider and this package's could run it: objects with ``runs``
    (null where the model does not say enough) and ``reason``.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from onnx_argmax._model_facts import ArgMaxFacts, Verdict, argmax_facts
from onnx_argmax._model_links import ValueEnd
from onnx_argmax._model_uses import drop_weights
from onnx_argmax._models import read_model
from onnx_argmax.cli.standard_output import check_open, show_text
from onnx_argmax.cli.tables import show_line, show_table
from onnx_argmax.operator import Dimension

__all__ = ["inspect_model"]

_MOST_CONSUMERS: Final = 4
"""Consumers of a value that a table names; the JSON has them all."""


def inspect_model(path: Path, *, as_json: bool) -> None:
    """Print the facts of every ArgMax of a model, as tables or as JSON.

    The model need not be valid, and its external data is not read.

    Raises
    ------
    OSError, ValueError, MemoryError
        When the file cannot be read, or is no model.
    """
    check_open()
    with warnings.catch_warnings(action="ignore"):  # that a text format is experimental
        model = read_model(path)
    drop_weights(model)
    facts = argmax_facts(model)
    if as_json:
        opsets = {entry.domain: entry.version for entry in model.opset_import}
        document = {
            "model": str(path),
            "ir_version": model.ir_version,
            "opsets": opsets,
            "argmax": [_as_json(entry) for entry in facts],
        }
        show_text(json.dumps(document, indent=2))
    else:
        _show(facts)


def _as_json(facts: ArgMaxFacts) -> dict[str, Any]:
    return {
        "name": facts.name,
        "position": facts.position,
        "in": facts.place,
        "function": facts.function,
        "called": facts.called,
        "opset": facts.opset,
        "version": facts.version,
        "attributes": facts.attributes,
        "attributes_set": facts.given,
        "attributes_of_caller": list(facts.linked),
        "input": {
            "name": facts.input_name,
            "type": facts.element_type,
            "shape": None if facts.shape is None else list(facts.shape),
        },
        "output": {
            "name": facts.output_name,
            "type": facts.output_type,
            "shape": None if facts.output_shape is None else list(facts.output_shape),
        },
        "producer": _end_as_json(facts.producer),
        "consumers": [_end_as_json(end) for end in facts.consumers],
        "problems": list(facts.problems),
        "cpu_provider": asdict(facts.cpu),
        "onnx_argmax": asdict(facts.ours),
    }


def _end_as_json(end: ValueEnd) -> dict[str, str]:
    return {"kind": end.kind, "operator": end.operator, "name": end.name, "in": end.place}


def _show(facts: list[ArgMaxFacts]) -> None:
    if not facts:
        show_line("The model has no ArgMax node.")
        return
    for entry in facts:
        show_table(f"ArgMax {entry.label}", ("", ""), _rows(entry))
    show_line(
        f"ArgMax nodes: {len(facts)}. ONNX Runtime's CPU provider could run "
        f"{_count([entry.cpu.runs for entry in facts])}, "
        f"onnx-argmax {_count([entry.ours.runs for entry in facts])}."
    )


def _count(verdicts: list[bool | None]) -> str:
    unknown = verdicts.count(None)
    return f"{verdicts.count(True)}" + (f" (and {unknown} not known)" if unknown else "")


def _rows(facts: ArgMaxFacts) -> list[tuple[str, str]]:
    where = facts.place if facts.called else f"{facts.place}, which nothing calls"
    opset = "none" if facts.opset is None else str(facts.opset)
    version = "" if facts.version is None else f", ArgMax version {facts.version}"
    return [
        ("in", where),
        ("opset", opset + version),
        ("attributes", _attributes(facts)),
        ("input", _value(facts.input_name, facts.element_type, facts.shape)),
        ("from", _end(facts.producer, facts.place)),
        ("output", _value(facts.output_name, facts.output_type, facts.output_shape)),
        ("to", _ends(facts)),
        *(("problem", problem) for problem in facts.problems),
        ("CPU provider", _verdict(facts.cpu, facts)),
        ("onnx-argmax", _verdict(facts.ours, facts)),
    ]


def _attributes(facts: ArgMaxFacts) -> str:
    if not facts.attributes:
        set_ones = [f"{name} = {value}" for name, value in facts.given.items()]
        return ", ".join([*set_ones, *(f"{name} from the caller" for name in facts.linked)])
    return ", ".join(
        f"{name} from the caller"
        if value is None
        else f"{name} = {value}" + ("" if name in facts.given else " (default)")
        for name, value in facts.attributes.items()
    )


def _value(name: str, element_type: str | None, shape: tuple[Dimension, ...] | None) -> str:
    dimensions = "of any rank" if shape is None else _shape(shape)
    return f"{name}: {element_type or '?'} {dimensions}"


def _shape(shape: tuple[Dimension, ...]) -> str:
    words = ["?" if dimension is None else str(dimension) for dimension in shape]
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


def _end(end: ValueEnd, place: str) -> str:
    if end.kind == "node":
        words = f"{end.operator} {end.name}".strip()
    else:
        words = end.kind if end.kind == "nothing" else f"{end.kind} {end.name}"
    return words if end.place in (place, "") else f"{words} ({end.place})"


def _ends(facts: ArgMaxFacts) -> str:
    words = [_end(end, facts.place) for end in facts.consumers[:_MOST_CONSUMERS]]
    more = len(facts.consumers) - len(words)
    return ", ".join(words) + (f" and {more} more" if more else "") or "nothing"


def _verdict(verdict: Verdict, facts: ArgMaxFacts) -> str:
    word = {True: "runs it", False: "does not run it", None: "not known"}[verdict.runs]
    if facts.problems and not verdict.runs:
        return f"{word}: see the problem" + ("s" if len(facts.problems) > 1 else "")
    return f"{word}: {verdict.reason}" if verdict.reason else word
