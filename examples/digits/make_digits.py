# SPDX-License-Identifier: Apache-2.0
"""Train a classifier of handwritten digits and export it, with the digits it never saw.

Writes ``digits.onnx`` and ``digits.npz`` beside this file. It needs scikit-learn and skl2onnx;
the committed files were made with the versions in ``MADE_WITH``. The seeds are fixed, so the
same versions on the same machine give the same files; another machine may round differently
in training and so give slightly other weights.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from threadpoolctl import threadpool_limits

MADE_WITH = {"scikit-learn": "1.9.1", "skl2onnx": "1.20.0", "onnx": "1.23.2", "numpy": "2.4.6"}
FOLDER = Path(__file__).resolve().parent


def main() -> None:
    """Train, export, and write both files."""
    pixels, label = load_digits(return_X_y=True)
    pixels = pixels.astype(np.float32)
    seen, held_out, seen_label, held_out_label = train_test_split(
        pixels, label, test_size=0.2, random_state=0, stratify=label
    )
    classifier = make_pipeline(
        MinMaxScaler(), MLPClassifier(hidden_layer_sizes=(32,), max_iter=1000, random_state=0)
    )
    with threadpool_limits(1):  # sums split among threads round differently
        classifier.fit(seen, seen_label)
    model = to_onnx(
        classifier,
        initial_types=[("pixels", FloatTensorType([None, 64]))],
        # Without it a ZipMap turns the probabilities into one dictionary for each digit.
        options={id(classifier): {"zipmap": False}},
        target_opset={"": 13, "ai.onnx.ml": 1},
        # The default name is random.
        name="digits",
    )
    assert "ArgMax" in [node.op_type for node in model.graph.node]
    (FOLDER / "digits.onnx").write_bytes(model.SerializeToString(deterministic=True))
    np.savez_compressed(
        FOLDER / "digits.npz", pixels=held_out, label=held_out_label.astype(np.int64)
    )
    for name, made_with in MADE_WITH.items():
        installed = version(name)
        note = "" if installed == made_with else f" (the committed files: {made_with})"
        print(f"{name} {installed}{note}")
    right = int((classifier.predict(held_out) == held_out_label).sum())
    print(f"{right} of {len(held_out)} held-out digits right")


if __name__ == "__main__":
    main()
