# SPDX-License-Identifier: Apache-2.0
"""A model on ONNX's reference evaluator, with this package's ArgMax."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from onnx_argmax import build_info, get_num_threads, set_num_threads
from onnx_argmax._model_scopes import argmax_nodes, model_scopes
from onnx_argmax.backend import PreparedModel
from onnx_argmax.cli.errors import CommandError, message_of
from onnx_argmax.cli.evaluation import Evaluation, NodeRun
from onnx_argmax.reference import ArgMax, new_ops

__all__ = ["run_on_reference"]


class _TimedArgMax(ArgMax):
    """The operator, which adds the time of each run to what its node's mark says."""

    seconds: ClassVar[dict[str, float]]

    def run(self, *args: Any, **options: Any) -> tuple[Any, ...]:
        start = time.perf_counter()
        try:
            return super().run(*args, **options)
        finally:
            mark = self.onnx_node.doc_string
            self.seconds[mark] = self.seconds.get(mark, 0.0) + time.perf_counter() - start


def run_on_reference(
    path: Path,
    model: onnx.ModelProto,
    inputs: dict[str, Any],
    *,
    threads: int | None,
    profile: bool,
) -> Evaluation:
    """Run a checked model on checked inputs.

    Parameters
    ----------
    path : Path
        What an error calls the model.
    model : onnx.ModelProto
        The model; with ``profile`` its ArgMax nodes are marked.
    inputs : dict of str to array
        By the inputs' names.
    threads : int, optional
        Most threads that an ArgMax uses.
    profile : bool
        Whether times are taken.

    Raises
    ------
    CommandError
        When the evaluator lacks an operator, and for an error as the model runs.
    """
    # Asked before the run, as an environment variable that is no good is found out here.
    by = f"onnx_argmax.reference, level {build_info().level}"
    nodes = argmax_nodes(model_scopes(model))
    names = [value.name for value in model.graph.output]
    seconds: dict[str, float] = {}
    try:
        with _threads(threads), np.errstate(all="ignore"):
            # What overflows or is no number is an answer in ONNX, nothing to warn of.
            if not profile:
                outputs = PreparedModel(model).run(inputs)
                return _evaluation(names, outputs, [NodeRun(by) for _ in nodes], None)
            for mark, found in enumerate(nodes):
                found.node.doc_string = str(mark)
            evaluator = _timed(model, seconds)
            start = time.perf_counter()
            outputs = evaluator.run(None, inputs)
            total = time.perf_counter() - start
    except Exception as error:
        raise CommandError(f"{path}: the model failed as it ran: {message_of(error)}") from error
    runs = [NodeRun(by, seconds.get(str(mark))) for mark in range(len(nodes))]
    return _evaluation(names, outputs, runs, total)


def _evaluation(
    names: list[str], outputs: Any, nodes: list[NodeRun], seconds: float | None
) -> Evaluation:
    named = dict(zip(names, outputs, strict=True))
    return Evaluation(named, f"ONNX's reference evaluator {onnx.__version__}", nodes, seconds)


def _timed(model: onnx.ModelProto, seconds: dict[str, float]) -> Any:
    # The evaluator knows an operator by its class's name, and takes the first of that name.
    timed = type(ArgMax.__name__, (_TimedArgMax,), {"seconds": seconds})
    return ReferenceEvaluator(
        model.graph,
        opsets={entry.domain: entry.version for entry in model.opset_import},
        new_ops=[timed, *new_ops(model)],
    )


@contextmanager
def _threads(most: int | None) -> Generator[None]:
    before = get_num_threads()
    if most is not None:
        set_num_threads(most)
    try:
        yield
    finally:
        set_num_threads(before)
