# SPDX-License-Identifier: Apache-2.0
"""Whether boxes that come one by one make up an array, each element once."""

from __future__ import annotations

import hashlib
import math
import secrets
from typing import Final

from onnx_argmax._boxes import Box, box_text, lengths_of, whole_box

__all__ = ["Coverage"]

_PRIME: Final = 2**61 - 1


class Coverage:
    """Counts boxes, in the same memory for any number of them.

    Each index of each axis has a random number, and a box weighs the product, over the axes, of
    the difference between the numbers of its end and its start, modulo a prime p: weights add up,
    whatever the boxes. Boxes that cover each element once weigh what the array weighs; others
    would do so with a probability of at most rank / p (Schwartz and Zippel), 2**-55 for rank 64.
    The numbers are a keyed hash of axis and index, so that no input can aim at them.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._key = secrets.token_bytes(16)
        self._weight = 0
        self._elements = 0

    def add(self, box: Box) -> None:
        """Count a box that lies in the array."""
        self._weight = (self._weight + self._weight_of(box)) % _PRIME
        self._elements += math.prod(lengths_of(box))

    def check(self) -> None:
        """Raise ValueError when some element is missing or came more than once."""
        whole = whole_box(self._shape)
        if self._elements == math.prod(self._shape) and self._weight == self._weight_of(whole):
            return
        came, needed = self._elements, math.prod(self._shape)
        what = "some are missing" if came < needed else "some came more than once"
        if came == needed:
            what = "some came more than once and others are missing"
        raise ValueError(
            f"blocks: they hold {came} elements, the array {box_text(whole)} has {needed}: "
            f"{what}; every element must come in one block"
        )

    def _weight_of(self, box: Box) -> int:
        weight = 1
        for axis, part in enumerate(box):
            weight = (
                weight * (self._number(axis, part.stop) - self._number(axis, part.start)) % _PRIME
            )
        return weight

    def _number(self, axis: int, index: int) -> int:
        place = axis.to_bytes(1) + index.to_bytes(8)
        digest = hashlib.blake2b(place, digest_size=16, key=self._key).digest()
        return int.from_bytes(digest) % _PRIME
