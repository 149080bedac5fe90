# SPDX-License-Identifier: Apache-2.0
"""Everything there is to say of a model's ArgMax nodes without running it.

The model need not be valid: what is wrong with a node is one of the facts.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnx

from onnx_argmax._model_links import Links, ValueEnd
from onnx_argmax._model_scopes import ArgMaxNode, argmax_nodes, model_scopes
from onnx_argmax._model_uses import Use, uses_of
from onnx_argmax.operator import (
    INPUT_NAME,
    OUTPUT_ELEMENT_TYPE,
    Attributes,
    Dimension,
    Version,
    element_type_name,
    version_for_opset,
)

__all__ = ["ArgMaxFacts", "Verdict", "argmax_facts"]

_CPU_TYPES: Final = frozenset(
    getattr(onnx.TensorProto, name)
    for name in ("FLOAT", "DOUBLE", "INT8", "UINT8", "INT32", "INT64")
)
"""Element types for which the CPU provider has a kernel, the same on every version: ONNX
Runtime's ``docs/OperatorKernels.md``. A test asks the installed onnxruntime."""
_FIRST_CAST_BY_NUMBER: Final = 6
"""ONNX Runtime puts Casts around float16, which are valid from this operator set on."""
_RANK_0_REFUSED_FROM: Final = 11
"""Version of ArgMax whose shape inference, which ONNX Runtime runs as it loads, refuses rank 0."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a provider of ONNX Runtime could run a node."""

    runs: bool | None
    """None where it depends on what the model does not say."""
    reason: str
    """Why not, or under which condition; empty where there is nothing to say."""


@dataclass(frozen=True, slots=True)
class ArgMaxFacts:
    """An ArgMax node, as one way of calling it makes it; outside of functions there is one way."""

    name: str
    """Empty where the node has none."""
    label: str
    """The name; the position and output where there is none."""
    position: int
    place: str
    function: str | None
    """Name of the model-local function that it is in."""
    called: bool
    """Whether it is outside of functions, or its function is called, as far as is known."""
    opset: int | None
    version: int | None
    given: dict[str, Any]
    """Attributes as they are set."""
    linked: tuple[str, ...]
    """Names of attributes that a function's caller sets, where no call is known."""
    attributes: dict[str, int | None]
    """Every attribute of the version with its value, the default where it is not set, None where
    only a call would tell; empty where what is set is invalid."""
    input_name: str
    element_type: str | None
    """``"tensor(float)"``; None where unknown."""
    shape: tuple[Dimension, ...] | None
    output_name: str
    output_shape: tuple[Dimension, ...] | None
    producer: ValueEnd
    consumers: tuple[ValueEnd, ...]
    problems: tuple[str, ...]
    """What makes the node invalid."""
    cpu: Verdict
    """Of ONNX Runtime's CPU provider."""
    ours: Verdict
    """Of this package's provider."""

    @property
    def output_type(self) -> str:
        """Element type of the output."""
        return str(OUTPUT_ELEMENT_TYPE)


def argmax_facts(model: onnx.ModelProto) -> list[ArgMaxFacts]:
    """Facts of every ArgMax of a model, those in subgraphs and functions included.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, valid or not, with or without its weights.
    """
    scopes = model_scopes(model)
    links = Links(scopes)
    facts: list[ArgMaxFacts] = []
    for found, uses in zip(argmax_nodes(scopes), uses_of(model), strict=True):
        if uses:
            facts += [_facts(found, use, links, called=True) for use in uses]
        else:
            never = Use((), tuple(a.name for a in found.node.attribute), "", None, None)
            facts.append(_facts(found, never, links, called=False))
    return facts


def _facts(found: ArgMaxNode, use: Use, links: Links, *, called: bool) -> ArgMaxFacts:
    node, opset = found.node, found.scope.opset
    input_name = node.input[0] if node.input else ""
    output_name = node.output[0] if node.output else ""
    producer = links.producer(found, input_name)
    problems = _problems_of_place(found, producer, links)
    version = _version(opset, problems)
    checked = None if version is None else _attributes(version, use, problems)
    shape, at_a_run = (None, "") if version is None else _infer(version, use, checked, problems)
    element_type = None if use.element_type is None else element_type_name(use.element_type)
    return ArgMaxFacts(
        name=node.name,
        label=found.label,
        position=found.position,
        place=found.scope.place,
        function=found.scope.function,
        called=called,
        opset=opset,
        version=None if version is None else version.since_version,
        given={name: _plain(value) for name, value in use.attributes},
        linked=use.linked,
        attributes={} if version is None or checked is None else _values(version, use, checked),
        input_name=input_name,
        element_type=element_type,
        shape=use.shape,
        output_name=output_name,
        output_shape=shape,
        producer=producer,
        consumers=tuple(links.consumers(found, output_name)) if output_name else (),
        problems=tuple(problems),
        cpu=_cpu(use, opset, problems, at_a_run),
        ours=_ours(use, problems, at_a_run),
    )


def _problems_of_place(found: ArgMaxNode, producer: ValueEnd, links: Links) -> list[str]:
    node = found.node
    problems: list[str] = []
    if len(node.input) != 1 or not node.input[0]:
        problems.append(f"an ArgMax takes one input, this one {len([*filter(None, node.input)])}")
    elif producer.kind == "nothing":
        problems.append(f"nothing in the model gives its input {producer.name!r}")
    if len(node.output) != 1 or not node.output[0]:
        problems.append(f"an ArgMax has one output, this one {len([*filter(None, node.output)])}")
    if links.waits_for_itself(found):
        problems.append("it waits for its own output: it is in a cycle of nodes, or behind one")
    if found.scope.function is None:
        problems += [
            f"attribute {a.name!r} refers to {a.ref_attr_name!r} of a function's caller, but the "
            "node is in no function"
            for a in node.attribute
            if a.ref_attr_name
        ]
    return problems


def _version(opset: int | None, problems: list[str]) -> Version | None:
    if opset is None:
        problems.append("no operator set of the default domain is imported")
        return None
    try:
        return version_for_opset(opset)
    except ValueError as error:
        problems.append(str(error))
        return None


def _attributes(version: Version, use: Use, problems: list[str]) -> Attributes | None:
    try:
        # Any integer will do to find out whether the version has them.
        version.check_attributes({**dict.fromkeys(use.linked, 0), **dict(use.attributes)})
        return version.check_attributes(dict(use.attributes))
    except (TypeError, ValueError) as error:
        problems.append(str(error))
        return None


def _infer(
    version: Version, use: Use, attributes: Attributes | None, problems: list[str]
) -> tuple[tuple[Dimension, ...] | None, str]:
    """Shape of the output, and why a run of the node, though valid, would be an error."""
    if use.kind not in ("", "tensor_type"):
        problems.append(f"its input is a {use.kind.removesuffix('_type')}, not a tensor")
        return None, ""
    try:
        if use.element_type is not None:
            version.check_element_type(use.element_type)
    except TypeError as error:
        problems.append(str(error))
    if attributes is None or use.linked:
        return None, ""
    if use.shape == () and version.since_version >= _RANK_0_REFUSED_FROM:
        problems.append(
            f"{INPUT_NAME}: rank 0, which ONNX Runtime refuses as it loads a model, from version "
            f"{_RANK_0_REFUSED_FROM} on; Unsqueeze it first"
        )
    try:
        return version.infer(None, use.shape, attributes).shape, ""
    except np.exceptions.AxisError as error:
        problems.append(str(error))
        return None, ""
    except ValueError as error:  # a reduced axis of length 0, for which no index is right
        return None, str(error)


def _values(version: Version, use: Use, checked: Attributes) -> dict[str, int | None]:
    return {
        a.name: None if a.name in use.linked else int(getattr(checked, a.name))
        for a in version.attributes
    }


def _plain(value: Any) -> int | float | str:
    """The value of an attribute as JSON has it; what should not be there in words."""
    if isinstance(value, bytes):
        return reprlib.repr(value.decode(errors="backslashreplace"))
    return value if isinstance(value, (int, float)) else reprlib.repr(value)


def _cpu(use: Use, opset: int | None, problems: list[str], at_a_run: str) -> Verdict:
    if at_a_run and use.shape is not None and use.shape.count(0) > 1:
        at_a_run = ""  # it gives an empty result where any other axis is empty too
    verdict = _ours(use, problems, at_a_run)
    if not verdict.runs or use.element_type in _CPU_TYPES:
        return verdict
    assert use.element_type is not None  # or the verdict were not known
    name = element_type_name(use.element_type)
    if use.element_type != onnx.TensorProto.FLOAT16:
        return Verdict(False, f"it has no kernel for {name}")
    if opset is not None and opset >= _FIRST_CAST_BY_NUMBER:
        return Verdict(True, "in float32, by a Cast that ONNX Runtime puts before it")
    return Verdict(
        False,
        f"it has no kernel for {name}, and before opset {_FIRST_CAST_BY_NUMBER} no Cast from it",
    )


def _ours(use: Use, problems: list[str], at_a_run: str) -> Verdict:
    if problems or at_a_run:
        return Verdict(False, "; ".join([*problems, *filter(None, [at_a_run])]))
    if use.element_type is None:
        return Verdict(None, "the input's element type is not known")
    return Verdict(True, "")
