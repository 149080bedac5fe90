# SPDX-License-Identifier: Apache-2.0
"""The doors to the operator, each as a small adapter that runs a case of the contract.

A new door is one class and one entry in ``DOORS``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pytest

from contract import Case, Refusal, version_of
from onnx_argmax import argmax, outofcore
from onnx_argmax._element_types import element_type_of_dtype
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
        options = [f"--axis={case.attributes.get('axis', 0)}"]
        if not case.attributes.get("keepdims", 1):
            options.append("--no-keepdims")
        if case.attributes.get("select_last_index", 0):
            options.append("--select-last-index")
        if case.data.dtype.name == "bfloat16":
            options.append("--bfloat16")
        source = self.stored(folder, case.data)
        return _command(folder, self.expected(case), "array", source, *options)

    def stored(self, folder: Path, data: Array) -> Path:
        """Store the data, and give the command's SOURCE."""
        np.save(folder / "data.npy", data)
        return folder / "data.npy"


class ArrayCommandOnZarr(ArrayCommand):
    """``onnx-argmax array`` on a Zarr array of several chunks."""

    name = "array_command_zarr"

    def stored(self, folder: Path, data: Array) -> Path:
        zarr = pytest.importorskip("zarr", minversion="3", reason="zarr is not installed")
        if data.dtype.name == "bfloat16":
            data = data.view(np.uint16)  # which Zarr does not know
        chunks = tuple(max(1, (n + 1) // 2) for n in data.shape)
        made = zarr.create_array(
            folder / "data.zarr", shape=data.shape, chunks=chunks, dtype=data.dtype, zarr_format=2
        )
        made[...] = data
        return folder / "data.zarr"


class OutOfCore:
    """``onnx_argmax.outofcore.argmax`` on a ``.npy``, or on its memory map, in tiny blocks."""

    def __init__(self, name: str, *, by_path: bool) -> None:
        self.name, self._by_path = name, by_path

    def expected(self, case: Case) -> Array | Refusal | None:
        # Strings are saved as pickles, and types of other libraries than NumPy as raw bytes.
        saved = case.data.dtype.kind != "O"
        plain = not case.data.dtype.name.startswith(("bfloat16", "float8"))
        return _without_versions(case) if saved and (plain or not self._by_path) else None

    def run(self, case: Case, folder: Path) -> Array:
        from stored import small_blocks

        path = folder / "data.npy"
        np.save(path, case.data)
        mapped = np.lib.format.open_memmap(path, "r").view(case.data.dtype)
        with small_blocks(2 * case.data.itemsize, 1):
            return outofcore.argmax(path if self._by_path else mapped, **case.attributes)


class DaskArray:
    """``onnx_argmax.argmax`` of a Dask array in chunks of two elements along every axis."""

    name = "dask"

    def expected(self, case: Case) -> Array | Refusal | None:
        return _without_versions(case)

    def run(self, case: Case, folder: Path) -> Array:
        dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
        chunked = dask_array.from_array(case.data, chunks=2)
        return argmax(chunked, **case.attributes).compute(scheduler="synchronous")


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

    runtime = "reference"

    def expected(self, case: Case) -> Array | Refusal | None:
        if case.data.dtype.kind == "O" or case.data.dtype.name.startswith("float8"):
            return None  # as for ArrayCommand
        return super().expected(case)

    def run(self, case: Case, folder: Path) -> Array:
        (folder / "model.onnx").write_bytes(self.model(case).SerializeToString())
        np.savez(folder / "data.npz", data=case.data)
        return _command(
            folder,
            self.expected(case),
            *("run", folder / "model.onnx", folder / "data.npz", f"--runtime={self.runtime}"),
        )


class RunCommandOnOnnxRuntime(RunCommand):
    """The same on ONNX Runtime, in this process: it makes sessions of its own."""

    runtime = "onnxruntime"

    def expected(self, case: Case) -> Array | Refusal | None:
        right = not isinstance(case.outcome, Refusal)
        if right and self._shape_known and version_of(case.opset) >= 11 and case.data.ndim == 0:
            return Refusal(ValueError, ("ONNX Runtime cannot load it", "'axis' must be in"))
        return super().expected(case)

    def run(self, case: Case, folder: Path) -> Array:
        from ort_process import need_onnxruntime

        need_onnxruntime()
        return super().run(case, folder)


class OnnxRuntime(_ModelDoor):
    """``onnx_argmax.ort``: ONNX Runtime with our provider, in a process of its own."""

    def expected(self, case: Case) -> Array | Refusal | None:
        from ort_process import RemoteError

        refused_by_checker = self._words_of_checker(case)
        if refused_by_checker:
            return Refusal(RemoteError, (refused_by_checker, "labels"))
        if not isinstance(case.outcome, Refusal):
            return case.outcome
        element_type = element_type_of_dtype(case.data.dtype)
        where = (
            f"node 'labels' (ArgMax version {version_of(case.opset)})",
            f"input of shape {case.data.shape} and type {element_type}",
        )
        return Refusal(RemoteError, (*where, *case.outcome.words))

    def _words_of_checker(self, case: Case) -> str:
        """What ONNX Runtime itself says as it loads a model that it takes for invalid."""
        version = version_of(case.opset)
        refusal = case.outcome if isinstance(case.outcome, Refusal) else None
        if self._shape_known and version >= 11 and case.data.ndim == 0:
            return "'axis' must be in"
        if refusal is None:
            return ""
        if refusal.error is TypeError:
            return f"Type '{refusal.words[0]}' of input parameter (data)"
        if refusal.error is np.exceptions.AxisError:
            return "'axis' must be in" if self._shape_known and version >= 11 else ""
        for name in ("axes", "select_last_index"):
            if any(name in word for word in refusal.words):
                return f"Unrecognized attribute: {name} for operator ArgMax"
        return ""

    def run(self, case: Case, folder: Path) -> Array:
        from ort_calls import answers
        from ort_process import in_process, need_onnxruntime

        need_onnxruntime()
        model = self.model(case).SerializeToString()
        # Nothing in it may be left to the CPU provider.
        return in_process(answers, model, [{"data": case.data}], only_ours=True)[0]


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
    ArrayCommandOnZarr(),
    DaskArray(),
    OutOfCore("outofcore_npy", by_path=True),
    OutOfCore("outofcore_memory_map", by_path=False),
    Reference("reference", shape_known=True),
    Reference("reference", shape_known=False),
    Backend("backend", shape_known=True),
    Backend("backend", shape_known=False),
    RunCommand("run_on_reference", shape_known=True),
    RunCommand("run_on_reference", shape_known=False),
    RunCommandOnOnnxRuntime("run_on_onnxruntime", shape_known=True),
    RunCommandOnOnnxRuntime("run_on_onnxruntime", shape_known=False),
    OnnxRuntime("onnxruntime", shape_known=True),
    OnnxRuntime("onnxruntime", shape_known=False),
)
