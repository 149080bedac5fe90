# SPDX-License-Identifier: Apache-2.0
"""Classifiers of handwritten digits, trained here and exported with their ArgMax inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

__all__ = ["CLASSIFIERS", "Trained", "trained"]

# The default names of a graph are random.
_GRAPH: Final = "digits"


def _network() -> Any:
    return MLPClassifier((32,), max_iter=1000, random_state=0)


def _tree() -> Any:
    return DecisionTreeClassifier(max_depth=8, random_state=0)


def _bayes() -> Any:
    return GaussianNB(var_smoothing=1e-3)


CLASSIFIERS: Final[dict[str, Callable[[], Any]]] = {
    "MLP": _network,
    "GaussianNB": _bayes,
    "QDA": lambda: QuadraticDiscriminantAnalysis(reg_param=0.1),
    "KNN": lambda: KNeighborsClassifier(3),
    "voting": lambda: VotingClassifier(
        [("bayes", _bayes()), ("network", _network())], voting="soft", flatten_transform=False
    ),
    "voting by majority": lambda: VotingClassifier(
        [("bayes", _bayes()), ("tree", _tree()), ("near", KNeighborsClassifier(3))],
        flatten_transform=False,
    ),
    "bagging": lambda: BaggingClassifier(_tree(), random_state=0),
    "AdaBoost": lambda: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=4), n_estimators=20, random_state=0
    ),
}


@dataclass(frozen=True)
class Trained:
    """A classifier as a model, with the digits that it never saw."""

    model: onnx.ModelProto
    feed: dict[str, NDArray[Any]]
    predicted: NDArray[Any]
    """By scikit-learn."""
    digits: NDArray[Any]
    """What they are."""


@cache
def trained(name: str) -> Trained:
    """Train the classifier of that name and export it."""
    pixels, digits = load_digits(return_X_y=True)
    seen, held_out, seen_digits, held_out_digits = train_test_split(
        pixels.astype(np.float32), digits, test_size=0.2, random_state=0, stratify=digits
    )
    classifier = CLASSIFIERS[name]().fit(seen, seen_digits)
    model: Any = to_onnx(
        classifier,
        name=_GRAPH,
        initial_types=[("pixels", FloatTensorType([None, pixels.shape[1]]))],
        # Without it a ZipMap turns the probabilities into one dictionary for each digit.
        options={id(classifier): {"zipmap": False}},
        target_opset={"": 18, "ai.onnx.ml": 3},
    )
    return Trained(model, {"pixels": held_out}, classifier.predict(held_out), held_out_digits)
