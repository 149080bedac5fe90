# SPDX-License-Identifier: Apache-2.0
"""Arabic vowel marks: one label for each letter, from two ArgMax nodes inside the model.

The marks of a word are left out in ordinary writing. The model gives a class to each letter of
the bare text; its vocabulary says which marks a class stands for.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray

from real_models.fetching import Wheel

__all__ = ["OUTPUT", "SENTENCES", "feed", "model", "vocalised"]

_MODEL: Final = "text2tashkeel/models/rawi_ensemble.int8.onnx"
_VOCABULARY: Final = "text2tashkeel/models/rawi_v2.vocab.json"
_WHEEL: Final = Wheel(
    "text2tashkeel",
    "0.1.0",
    {
        _MODEL: "429333d9825ca70d2482885547a61a41fdcd6f67d7b96bb09e852fdcf3bd266c",
        _VOCABULARY: "5a8972bc1c5985092973d543d8b04f4c9317b2d11625c242420baf69bb4bf037",
    },
)
OUTPUT: Final = "gated_cls"

SENTENCES: Final = {
    "بسم الله الرحمن الرحيم": "بِسْمِ اللَّهِ الرَّحْمَنِ الرَّحِيمِ",
    "لا يجوز استرقاق أحد أو استعباده": "لَا يَجُوزُ اسْتِرْقَاقُ أَحَدٍ أَوْ اسْتِعْبَادُهُ",
    "وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء.": (
        "وَقَدْ وَهَبُوا عَقْلًا وَضَمِيرًا وَعَلَيْهِمْ أَنْ يُعَامِلَ بَعْضُهُمْ بَعْضًا بِرُوحِ الْإِخَاءِ."
    ),
}
"""Bare text and what the model makes of it; two are from the Declaration of Human Rights.

No letter's best class is closer to the next one than 0.08, and the int8 products of a processor
without VNNI change that by 0.02, so that another one may be expected to give the same text.
"""


def model() -> onnx.ModelProto:
    """The model as it was published."""
    return onnx.load(_WHEEL.fetched(_MODEL))


def feed(text: str) -> dict[str, NDArray[Any]]:
    """The model's input for a text: a number for each bare character, shape (1, length)."""
    numbers: dict[str, int] = _vocabulary()["char_to_idx"]
    unknown = numbers["<UNK>"]
    return {"input": np.array([[numbers.get(letter, unknown) for letter in _bare(text)]])}


def vocalised(text: str, classes: Sequence[int]) -> str:
    """The text with the marks that the classes of its bare characters stand for."""
    marks = {number: marks for marks, number in _vocabulary()["diac_to_idx"].items()}
    pairs = zip(_bare(text), classes, strict=True)
    marked = [
        letter + (marks[int(number)] if unicodedata.category(letter).startswith("L") else "")
        for letter, number in pairs
    ]
    return unicodedata.normalize("NFC", "".join(marked))


def _bare(text: str) -> list[str]:
    """Letters without their marks, decomposed: a hamza on its carrier is a mark too."""
    decomposed = unicodedata.normalize("NFD", text)
    return [letter for letter in decomposed if unicodedata.category(letter) not in ("Mn", "So")]


@cache
def _vocabulary() -> dict[str, dict[str, int]]:
    return json.loads(_WHEEL.fetched(_VOCABULARY).read_text("utf-8"))
