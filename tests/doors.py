# SPDX-License-Identifier: Apache-2.0
"""The doors to the operator, each as a small adapter that runs a case of the contract.

A new door is one class and one entry in ``DOORS``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pytest

from contract import Case, Refusal
from onnx_argmax import argmax
from oracle import Array

__all__ = ["DOORS", "Door"]


class Door(Protocol):
    """One way by which a user meets the operator."""

    name: str

    def expected(self, case: Case) -> Array | Refusal | None:
        """The right outcome here; None where this door cannot express the case."""
        ...

    def run(self, case: Case, folder: Path) -> Array:
        """The result; a refusal is raised, as an error of the kind that the case names.

        ``folder`` is an empty one for files.
        """
        ...


_ARGUMENTS: Final = frozenset({"axis", "keepdims", "select_last_index"})


def _without_versions(case: Case) -> Array | Refusal | None:
    if not _ARGUMENTS.issuperset(case.attributes):
        return None
    return case.outcome if case.without_versions is None else case.without_versions


class ArrayFunction:
    """``onnx_argmax.argmax``."""

    name = "array_function"

    def expected(self, case: Case) -> Array | Refusal | None:
        return _without_versions(case)

    def run(self, case: Case, folder: Path) -> Array:
        return argmax(case.data, **case.attributes)


class ArrayCommand:
    """``onnx-argmax array`` on a ``.npy``."""

    name = "array_command"

    def expected(self, case: Case) -> Array | Refusal | None:
        # Strings are saved as pickles, which the command does not read; float8 as raw bytes.
        if case.data.dtype.kind == "O" or case.data.dtype.name.startswith("float8"):
            return None
        return _without_versions(case)

    def run(self, case: Case, folder: Path) -> Array:
        np.save(folder / "data.npy", case.data)
        options = [f"--axis={case.attributes.get('axis', 0)}"]
        if not case.attributes.get("keepdims", 1):
            options.append("--no-keepdims")
        if case.attributes.get("select_last_index", 0):
            options.append("--select-last-index")
        if case.data.dtype.name == "bfloat16":
            options.append("--bfloat16")
        return _command(folder, self.expected(case), "array", folder / "data.npy", *options)


class _ModelDoor:
    """A model of one ArgMax; its input's shape is declared, or not even its rank."""

    def __init__(self, kind: str, *, shape_known: bool) -> None:
        self.name = f"{kind}_{'shape_known' if shape_known else 'rank_unknown'}"
        self._shape_known = shape_known

    def expected(self, case: Case) -> Array | Refusal | None:
        return case.outcome

    def model(self, case: Case) -> Any:
        onnx = pytest.importorskip("onnx", reason="onnx is not installed")
        from models import argmax_model

        return argmax_model(
            onnx.helper.np_dtype_to_tensor_dtype(case.data.dtype),
            case.data.shape if self._shape_known else None,
            opset=case.opset,
            **case.attributes,
        )


class Reference(_ModelDoor):
    """The operator class in onnx's ``ReferenceEvaluator``."""

    def run(self, case: Case, folder: Path) -> Array:
        model = self.model(case)
        from onnx.reference import ReferenceEvaluator

        from onnx_argmax.reference import new_ops

        session = ReferenceEvaluator(model, new_ops=new_ops(model))
        return session.run(None, {"data": case.data})[0]


class Backend(_ModelDoor):
    """``onnx_argmax.backend``."""

    def run(self, case: Case, folder: Path) -> Array:
        model = self.model(case)
        from onnx_argmax import backend

        return backend.run_model(model, [case.data])[0]


class RunCommand(_ModelDoor):
    """``onnx-argmax run`` on a model's file and a ``.npz``."""

    def expected(self, case: Case) -> Array | Refusal | None:
        if case.data.dtype.kind == "O" or case.data.dtype.name.startswith("float8"):
            return None  # as for ArrayCommand
        return super().expected(case)

    def run(self, case: Case, folder: Path) -> Array:
        (folder / "model.onnx").write_bytes(self.model(case).SerializeToString())
        np.savez(folder / "data.npz", data=case.data)
        return _command(
            folder, self.expected(case), "run", folder / "model.onnx", folder / "data.npz"
        )


def _command(folder: Path, expected: Array | Refusal | None, *arguments: str | Path) -> Array:
    """Run the command and read its result; a refusal is raised as the kind that is expected,
    since the command tells no kinds apart but by its exit status."""
    pytest.importorskip("typer", reason="typer is not installed")
    from command import in_this_process

    output = folder / "result.npy"
    done = in_this_process(*arguments, f"--output={output}")
    if done.status == 0:
        done.accepted()
        return np.load(output)
    done.refused()
    assert not output.exists()
    raise (expected.error if isinstance(expected, Refusal) else AssertionError)(done.err)


DOORS: Final[tuple[Door, ...]] = (
    ArrayFunction(),
    ArrayCommand(),
    Reference("reference", shape_known=True),
    Reference("reference", shape_known=False),
    Backend("backend", shape_known=True),
    Backend("backend", shape_known=False),
    RunCommand("run_command", shape_known=True),
    RunCommand("run_command", shape_known=False),
)
