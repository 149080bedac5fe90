# SPDX-License-Identifier: Apache-2.0
"""ONNX's backend interface: whole models and single nodes, every ArgMax run by this package.

The other operators run on ONNX's reference evaluator, so every model that it can run runs here.
A model is checked before it runs (by the contract for its ArgMax nodes, by onnx's checker for
everything), and inputs are checked against what the model declares.

Examples
--------
>>> import numpy as np
>>> import onnx.parser
>>> from onnx_argmax import backend
>>> model = onnx.parser.parse_model('''
...     <ir_version: 8, opset_import: ["" : 13]>
...     classify (float[N, 3] scores) => (int64[N] labels) {
...         labels = ArgMax <axis = 1, keepdims = 0> (scores)
...     }
... ''')
>>> prepared = backend.prepare(model)
>>> prepared.run({"scores": np.array([[1, 3, 2], [9, 8, 7]], np.float32)})["labels"]
array([1, 0])
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from onnx_argmax._extras import raise_not_installed

try:
    import onnx
    import onnx.defs
    import onnx.helper
    from onnx.backend import base

    from onnx_argmax._model_checks import check_model, check_node
    from onnx_argmax._model_inputs import check_inputs, input_names
    from onnx_argmax._models import load_model
    from onnx_argmax.reference import evaluator
except ModuleNotFoundError as error:
    raise_not_installed(error, __name__)

__all__ = [
    "ArgMaxBackend",
    "PreparedModel",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class PreparedModel(base.BackendRep):
    """A checked model, ready to run any number of times; made by :func:`prepare`."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model: Final = model
        try:
            self._evaluator: Final = evaluator(model)
        except Exception as error:  # an operator it lacks shows in many ways
            raise NotImplementedError(
                f"model: ONNX's reference evaluator cannot run it: {_innermost(error)}"
            ) from error

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that :meth:`run` needs, in the order of a sequence's items."""
        return tuple(input_names(self._model))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in the order of the result's items."""
        return tuple(value.name for value in self._model.graph.output)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model.

        Parameters
        ----------
        inputs : mapping, list or tuple of arrays, or array
            An array for each input's name; or arrays in the order of the graph's inputs, without
            those that have an initializer or with all of them; or the array of the only input.
        **kwargs
            None is known; the interface lets callers pass some for other backends.

        Returns
        -------
        named tuple of arrays
            The outputs, by position or by name: ``outputs[0]``, ``outputs["labels"]``.

        Raises
        ------
        TypeError
            For an input of another element type than declared, or one that is no array; from an
            ArgMax inside, for an element type that its version lacks.
        ValueError
            For a wrong number of inputs, unknown and missing names, wrong shapes; from an ArgMax
            inside, for an axis out of range and a reduced axis of length 0. The message names
            the node, its input's shape and the axis.
        """
        feeds = check_inputs(self._model, self._named(inputs))
        try:
            outputs = self._evaluator.run(None, feeds)  # pyright: ignore[reportUnknownMemberType]
        except TypeError as error:
            # Evaluating If, Loop, Scan and functions puts other words around the cause's.
            raise TypeError(str(_innermost(error))) from error
        return base.namedtupledict("Outputs", self.output_names)(*outputs)

    def _named(self, inputs: Any) -> Mapping[str, Any]:
        if isinstance(inputs, Mapping):
            return cast("Mapping[str, Any]", inputs)
        arrays = _sequence(inputs)
        every = [value.name for value in self._model.graph.input]
        names = every if len(arrays) == len(every) else self.input_names
        return _by_position("model", names, arrays)


class ArgMaxBackend(base.Backend):
    """The backend as a class, as ``onnx.backend.test.BackendTest`` takes it.

    The functions of this module are its methods.
    """

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device: on ``"CPU"``, with or without a number, alone."""
        return re.fullmatch(r"CPU(:[0-9]+)?", device) is not None

    @classmethod
    def is_compatible(
        cls,
        model: onnx.ModelProto | str | os.PathLike[str],
        device: str = "CPU",
        **kwargs: Any,
    ) -> bool:
        """Whether :meth:`prepare` takes the model: it is valid, and every operator is there.

        Raises
        ------
        OSError
            When the model's file cannot be read, which says nothing about the model.
        """
        try:
            cls.prepare(model, device, **kwargs)
        except (TypeError, ValueError, NotImplementedError):
            return False
        return True

    @classmethod
    def prepare(
        cls,
        model: onnx.ModelProto | str | os.PathLike[str],
        device: str = "CPU",
        **kwargs: Any,
    ) -> PreparedModel:
        """Check a model and make it ready to run.

        Parameters
        ----------
        model : onnx.ModelProto, str or path
            The model, or its file, whose external data is read too.
        device : str
            ``"CPU"``.
        **kwargs
            None is known; the interface lets callers pass some for other backends.

        Returns
        -------
        PreparedModel
            What runs it.

        Raises
        ------
        ValueError
            When the model is invalid: by onnx's checker, or an ArgMax by the contract; when the
            device is another.
        TypeError
            When an ArgMax takes an element type that its version lacks; when ``model`` is
            neither a model nor a path.
        NotImplementedError
            When ONNX's reference evaluator lacks an operator of the model.
        OSError
            When the model's file, or its external data, is missing or cannot be read.
        """
        cls._check_device(device)
        if isinstance(model, (str, os.PathLike)):
            return PreparedModel(load_model(model))
        if not isinstance(model, onnx.ModelProto):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(
                f"model: an onnx.ModelProto or a path is needed, got {type(model).__name__}; "
                "for serialised bytes pass onnx.load_model_from_string(...)"
            )
        return PreparedModel(check_model(model))

    @classmethod
    def run_model(
        cls,
        model: onnx.ModelProto | str | os.PathLike[str],
        inputs: Any,
        device: str = "CPU",
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """:meth:`prepare`, then :meth:`PreparedModel.run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run a single node.

        Parameters
        ----------
        node : onnx.NodeProto
            The node.
        inputs : mapping, list or tuple of arrays, or array
            An array for each name, also for values that a graph inside the node captures; or
            arrays in the order of the node's inputs, with an item for one left out or without.
        device : str
            ``"CPU"``.
        outputs_info : sequence of (dtype, shape), optional
            What the outputs must be.
        opset_version : int, optional
            Version of the default domain, by default the newest that onnx knows.
        opset_imports : mapping of str to int, or sequence of onnx.OperatorSetIdProto, optional
            Versions of several domains.

        Returns
        -------
        named tuple of arrays
            The outputs.

        Raises
        ------
        TypeError, ValueError, NotImplementedError
            As for :meth:`prepare` and :meth:`PreparedModel.run`; ValueError too where an output
            is not as ``outputs_info`` says.
        """
        cls._check_device(device)
        model = _node_model(node, _opset_imports(node, **kwargs))
        named = _node_inputs(node, inputs)
        model.graph.input.extend(onnx.ValueInfoProto(name=name) for name in named)
        check_node(node, model.opset_import, known=named)
        outputs = PreparedModel(model).run(named)
        _check_outputs(node, outputs, outputs_info)
        return outputs

    @classmethod
    def _check_device(cls, device: str) -> None:
        if not cls.supports_device(device):
            raise ValueError(f"device: models run on 'CPU' alone, got {device!r}")


is_compatible = ArgMaxBackend.is_compatible
prepare = ArgMaxBackend.prepare
run_model = ArgMaxBackend.run_model
run_node = ArgMaxBackend.run_node
supports_device = ArgMaxBackend.supports_device


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _node_inputs(node: onnx.NodeProto, inputs: Any) -> dict[str, Any]:
    if isinstance(inputs, Mapping):
        return dict(cast("Mapping[str, Any]", inputs))
    arrays = _sequence(inputs)
    names = [name for name in node.input if name]
    if len(arrays) == len(node.input):  # None or anything else stands for one left out
        return {name: a for name, a in zip(node.input, arrays, strict=True) if name}
    return _by_position("node", names, arrays)


def _by_position(owner: str, names: Sequence[str], arrays: Sequence[Any]) -> dict[str, Any]:
    if len(arrays) != len(names):
        raise ValueError(
            f"inputs: the {owner} has {len(names)} ({', '.join(names)}), got {len(arrays)}"
        )
    return dict(zip(names, arrays, strict=True))


def _sequence(inputs: Any) -> Sequence[Any]:
    """The arrays of a sequence; what is none is the one array of a single input."""
    return cast("Sequence[Any]", inputs) if isinstance(inputs, (list, tuple)) else (inputs,)


def _opset_imports(
    node: onnx.NodeProto,
    opset_version: int | None = None,
    opset_imports: Mapping[str, int] | Sequence[onnx.OperatorSetIdProto] | None = None,
    **_: Any,
) -> dict[str, int]:
    imports = {"": onnx.defs.onnx_opset_version()}
    if isinstance(opset_imports, Mapping):
        imports |= opset_imports
    elif opset_imports is not None:
        imports |= {entry.domain: entry.version for entry in opset_imports}
    if opset_version is not None:
        imports[""] = opset_version
    if node.domain not in imports:
        known = (s.since_version for s in onnx.defs.get_all_schemas() if s.domain == node.domain)
        imports[node.domain] = max(known, default=1)
    return imports


def _node_model(node: onnx.NodeProto, imports: Mapping[str, int]) -> onnx.ModelProto:
    """A model of the node alone, which says nothing of the types of its values."""
    graph = onnx.GraphProto(name=node.op_type, node=[node])
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in imports.items()]
    return onnx.helper.make_model(graph, opset_imports=opsets)


def _check_outputs(
    node: onnx.NodeProto,
    outputs: Sequence[Any],
    outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None,
) -> None:
    if outputs_info is None:
        return
    found = [(np.dtype(array.dtype), tuple(array.shape)) for array in outputs]
    wanted = [(np.dtype(dtype), tuple(shape)) for dtype, shape in outputs_info]
    if found != wanted:
        raise ValueError(
            f"outputs_info: the outputs of {node.op_type} are {found}, but must be {wanted}"
        )
