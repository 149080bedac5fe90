# SPDX-License-Identifier: Apache-2.0
"""ArgMax for ONNX's reference evaluator, right for each version of the operator.

``onnx.reference.ReferenceEvaluator`` hands the classes in ``new_ops`` on to the bodies of If,
Loop and Scan, but not to model-local functions, which would run its own ArgMax. So
:func:`new_ops` takes the model and brings the model's functions along as classes of their own.

Examples
--------
>>> import numpy as np
>>> import onnx.parser
>>> from onnx.reference import ReferenceEvaluator
>>> from onnx_argmax.reference import new_ops
>>> model = onnx.parser.parse_model('''
...     <ir_version: 8, opset_import: ["" : 13]>
...     classify (float[N, 3] scores) => (int64[N] labels) {
...         labels = ArgMax <axis = 1, keepdims = 0> (scores)
...     }
... ''')
>>> session = ReferenceEvaluator(model, new_ops=new_ops(model))
>>> session.run(None, {"scores": np.array([[1, 3, 2], [9, 8, 7]], np.float32)})
[array([1, 0])]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, cast

import numpy as np

from onnx_argmax._argmax import argmax
from onnx_argmax._extras import raise_not_installed
from onnx_argmax.operator import DOMAIN, NAME, Version, version_for_opset

try:
    import onnx
    import onnx.defs
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpFunction, OpRun

    from onnx_argmax._model_nodes import node_attributes, node_words, with_prefix
except ModuleNotFoundError as error:
    raise_not_installed(error, __name__)

__all__ = ["ArgMax", "evaluator", "new_ops"]


class ArgMax(OpRun):
    """The operator, in the version that the opset of the node's graph or function means.

    For ``ReferenceEvaluator(model, new_ops=...)``; made by the evaluator, once for a node.

    Raises
    ------
    ValueError
        When the model is loaded: for an attribute that the version lacks, or one that is no
        integer. When it runs: for an axis out of range and a reduced axis of length 0.
    TypeError
        When it runs: for an element type that the version lacks.
    """

    op_domain = DOMAIN

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any]) -> None:
        opset: int = run_params["opsets"][onnx_node.domain]
        self._version: Final[Version] = version_for_opset(opset)
        self._words: Final = node_words(onnx_node, opset)
        try:
            self._version.check_attributes(node_attributes(onnx_node))
        except (TypeError, ValueError) as error:
            # The evaluator puts words of its own in the place of a TypeError's.
            raise ValueError(f"{self._words}: {error}") from None
        # With the newest version's schema, defaults that this version lacks would be filled in.
        schema = onnx.defs.get_schema(NAME, self._version.since_version, DOMAIN)
        super().__init__(onnx_node, run_params, schema)

    def run(self, *args: Any, **options: Any) -> tuple[Any, ...]:
        try:
            return super().run(*args, **options)  # pyright: ignore[reportUnknownMemberType]
        except TypeError as error:
            # OpRun puts words of its own in the place of a TypeError's; the cause has ours.
            cause = error.__cause__
            raise (cause if isinstance(cause, TypeError) else error) from None

    def _run(self, data: Any, **attributes: Any) -> tuple[Any, ...]:
        dtype: object = getattr(data, "dtype", None)
        try:
            if not isinstance(dtype, np.dtype):
                raise TypeError(f"data: a tensor is needed, got {type(data).__name__}")
            self._version.check_element_type(cast("np.dtype[Any]", dtype))
            # Checked again, as a function's caller may have set some.
            checked = self._version.check_attributes(attributes)
            return (argmax(data, checked.axis, checked.keepdims, checked.select_last_index),)
        except (TypeError, ValueError) as error:
            shape = "" if dtype is None else f" of shape {data.shape}"
            where = f"input {self.onnx_node.input[0]!r}{shape}, axis {attributes.get('axis', 0)}"
            raise with_prefix(f"{self._words}: {where}", error) from None


class _ModelFunction(OpFunction):
    """A model-local function, evaluated with the same new operators as its caller.

    The attributes of the call are written into the function's body, so that they reach every
    graph in it, and that one which is neither given nor has a default is left out there, as the
    specification has it. The evaluator by itself does neither.
    """

    op_domain: ClassVar[str]
    # Without it, a function named like an operator would be held against that one's schema.
    op_schema: ClassVar[None] = None
    overloads: ClassVar[Mapping[str, onnx.FunctionProto]]

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any]) -> None:
        body = _body(self._overload(onnx_node), onnx_node)
        evaluator_class: type[ReferenceEvaluator] = run_params["evaluator_cls"]
        implementation = evaluator_class(
            body,
            verbose=run_params.get("verbose", 0),
            new_ops=list(run_params["new_ops"].values()),
        )
        call = onnx.NodeProto()
        call.CopyFrom(onnx_node)
        del call.attribute[:]
        super().__init__(call, run_params, impl=implementation)

    def _run(self, *inputs: Any, **options: Any) -> tuple[Any, ...]:
        left_out = len(self.impl_.input_names) - len(inputs)
        return super()._run(  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            *inputs, *(None,) * left_out, **options
        )

    @classmethod
    def _overload(cls, node: onnx.NodeProto) -> onnx.FunctionProto:
        try:
            return cls.overloads[node.overload]
        except KeyError:
            known = ", ".join(repr(name) for name in cls.overloads)
            raise ValueError(
                f"node {node.name!r}: the model's function {node.op_type!r} has no overload "
                f"{node.overload!r}; it has {known}"
            ) from None


def new_ops(model: onnx.ModelProto | None = None) -> list[type[OpRun]]:
    """Classes for the ``new_ops`` of ``onnx.reference.ReferenceEvaluator``.

    Parameters
    ----------
    model : onnx.ModelProto, optional
        The model that will be evaluated. It is needed where the model has functions of its own:
        without it, an ArgMax inside them runs the evaluator's own code.

    Returns
    -------
    list of OpRun classes
        :class:`ArgMax`, and a class for each model-local function, which hands every class of
        ``new_ops`` on to the function's body, the caller's own ones too.
    """
    overloads: dict[tuple[str, str], dict[str, onnx.FunctionProto]] = {}
    for function in () if model is None else model.functions:
        known = overloads.setdefault((function.domain, function.name), {})
        known[function.overload] = function
    return [
        ArgMax,
        *(
            type(name, (_ModelFunction,), {"op_domain": domain, "overloads": known})
            for (domain, name), known in overloads.items()
        ),
    ]


def evaluator(
    model: onnx.ModelProto, *, operators: Iterable[type[OpRun]] = (), verbose: int = 0
) -> ReferenceEvaluator:
    """ONNX's reference evaluator for a model, every ArgMax in it run by this package.

    Beyond ``ReferenceEvaluator(model, new_ops=...)`` it takes functions in any order and
    functions that need operators of the caller's: the evaluator itself, given a model, first
    builds every function without them.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, from ``onnx.load``; it is not checked (``onnx_argmax.backend`` does, and takes
        a path too).
    operators : iterable of OpRun classes, optional
        More operators, as in ``new_ops``, for the whole model.
    verbose : int, optional
        As for the evaluator.

    Raises
    ------
    TypeError
        When ``model`` is no ModelProto.
    """
    if not isinstance(model, onnx.ModelProto):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"model: an onnx.ModelProto is needed, got {type(model).__name__}; "
            "load a file with onnx.load(path)"
        )
    return ReferenceEvaluator(
        model.graph,
        opsets={entry.domain: entry.version for entry in model.opset_import},
        new_ops=[*new_ops(model), *operators],
        verbose=verbose,
    )


def _body(function: onnx.FunctionProto, call: onnx.NodeProto) -> onnx.FunctionProto:
    """The function with the attributes of a call, and its defaults, written into its body."""
    values = {default.name: default for default in function.attribute_proto}
    for attribute in call.attribute:
        if attribute.name not in (*function.attribute, *values):
            raise ValueError(
                f"node {call.name!r}: the model's function {function.name!r} has no attribute "
                f"{attribute.name!r}"
            )
        if attribute.ref_attr_name:
            raise ValueError(
                f"node {call.name!r}: its attribute {attribute.name!r} is that of a function "
                "around it; evaluate the model, not the function alone"
            )
        values[attribute.name] = attribute
    body = onnx.FunctionProto()
    body.CopyFrom(function)
    del body.attribute[:]
    del body.attribute_proto[:]
    _bind(body.node, values)
    return body


def _bind(nodes: Iterable[onnx.NodeProto], values: Mapping[str, onnx.AttributeProto]) -> None:
    for node in nodes:
        for position in reversed(range(len(node.attribute))):
            attribute = node.attribute[position]
            if attribute.ref_attr_name:
                name, value = attribute.name, values.get(attribute.ref_attr_name)
                if value is None:
                    del node.attribute[position]
                else:
                    attribute.CopyFrom(value)
                    attribute.name = name
            for graph in (attribute.g, *attribute.graphs):
                _bind(graph.node, values)
