# SPDX-License-Identifier: Apache-2.0
"""Real models by ONNX Runtime alone and with the provider: the whole model and its ArgMax.

``python -m benchmarks.models`` from a clone, with the extras ``onnx``, ``cli`` and ``test``. The
models are those of ``tests/models/``, fetched as they are there.
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import metadata
from pathlib import Path
from typing import Final, TypeAlias

import onnx

from benchmarks import cpus
from benchmarks.data import Array
from benchmarks.model_runs import ALONE, OURS, ModelResult, run_model
from benchmarks.part import Part
from benchmarks.progress import shown
from benchmarks.report import circumstances, write
from benchmarks.tables import Table, seconds

__all__ = ["main", "make_models"]

Made: TypeAlias = tuple[onnx.ModelProto, Mapping[str, Array]]

_REAL_MODELS: Final = Path(__file__).resolve().parents[1] / "tests" / "models"


def make_models() -> dict[str, Callable[[], Made]]:
    """Each model with its input, made when it is called."""
    if str(_REAL_MODELS) not in sys.path:
        sys.path.append(str(_REAL_MODELS))
    from real_models import (
        digit_classifiers,
        file_types,
        light_networks,
        line_reader,
        nuclei,
        tagger,
    )
    from real_models.appending import with_argmax

    def appended(model: onnx.ModelProto, scores: str, axis: int) -> onnx.ModelProto:
        return with_argmax(model, scores, axis, keep_scores=False)

    def digits(name: str) -> Made:
        classifier = digit_classifiers.trained(name)
        return classifier.model, classifier.feed

    def light(name: str) -> Made:
        network = light_networks.model(name)
        scores = light_networks.scores_of(network)
        return appended(network, scores, light_networks.AXIS), light_networks.feed(network)

    return {
        "Arabic tagger": lambda: (
            tagger.model(),
            tagger.feed(max(tagger.SENTENCES, key=len)),
        ),
        "line reader": lambda: (
            appended(line_reader.model(), line_reader.SCORES, line_reader.AXIS),
            line_reader.feed(),
        ),
        "file types": lambda: (
            appended(file_types.model(), file_types.SCORES, file_types.AXIS),
            file_types.feed(file_types.files().values()),
        ),
        "nuclei": lambda: (
            appended(nuclei.model(), nuclei.SCORES, nuclei.AXIS),
            nuclei.feed(0, 0),
        ),
        **{
            f"digits/{name}": lambda name=name: digits(name)
            for name in digit_classifiers.CLASSIFIERS
        },
        **{
            f"light/{name.removeprefix('light_')}": lambda name=name: light(name)
            for name in light_networks.NAMES
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, write the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument(
        "--model", action="append", metavar="GLOB", help="only models of that name; repeatable"
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of the runtime (default: 1)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    given = parser.parse_args(arguments)
    models = make_models()
    names = [name for name in models if _matches(name, given.model or ["*"])]
    if not names:
        parser.error(f"--model: no model of that name; there are {', '.join(models)}")
    if not 1 <= given.threads <= cpus.available():
        parser.error(f"--threads: a number from 1 to {cpus.available()} is needed")
    words = sys.argv[1:] if arguments is None else arguments
    about = circumstances(shlex.join(["python", "-m", "benchmarks.models", *words]), [], {})
    about["versions"]["ONNX Runtime"] = metadata.version("onnxruntime")
    others = cpus.Others()
    with cpus.only(given.threads):
        results = [
            run_model(name, *models[name](), threads=given.threads)
            for name in shown("models", names)
        ]
    about["others_share"] = others.share()
    data = [{**dataclasses.asdict(result), "share": result.share} for result in results]
    for path in write([Part("models", data, (_table(results),))], about, given.json, None):
        print(f"written: {path}")


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _table(results: Sequence[ModelResult]) -> Table:
    rows = [
        (
            result.name,
            str(result.nodes),
            seconds(result.whole[ALONE].median),
            seconds(result.whole[OURS].median),
            f"{result.whole[OURS].median / result.whole[ALONE].median:.2f}",
            seconds(result.argmax[ALONE]),
            seconds(result.argmax[OURS]),
            f"{result.argmax[OURS] / result.argmax[ALONE]:.2f}",
            f"{result.share:.2%}",
        )
        for result in results
    ]
    return Table(
        f"Models, {results[0].threads} threads: with {ALONE} alone, with {OURS}, the ratio",
        (
            *("model", "nodes"),
            *("model, alone", "with ours", "ratio"),
            *("ArgMax, alone", "ours", "ratio", "share"),
        ),
        rows,
        (
            "Medians, taken in turns. ArgMax: all nodes of a run together, by the runtime's own "
            "profile, which counts whole microseconds. share: ArgMax's part of the model's time "
            "with ONNX Runtime alone.",
        ),
        apart=True,
    )


if __name__ == "__main__":
    main()
