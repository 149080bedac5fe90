# SPDX-License-Identifier: Apache-2.0
"""Elements for the tests: each type's dtype, and the bit patterns that tell right from wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import ml_dtypes
import numpy as np

from onnx_argmax._element_types import BOOL, ELEMENT_TYPES, ElementType
from oracle import FLOAT_FORMATS, Array, rank_of_bits

__all__ = [
    "ALL_TYPES",
    "FLOAT_TYPES",
    "LARGEST_BITS",
    "LOWEST_BITS",
    "NAN_BITS",
    "SPECIAL_BITS",
    "bits_dtype",
    "from_bits",
    "numpy_dtype",
    "random_elements",
    "type_id",
    "type_named",
]

ALL_TYPES: Final = (*ELEMENT_TYPES, BOOL)
FLOAT_TYPES: Final = tuple(t for t in ELEMENT_TYPES if t.dtype_name in FLOAT_FORMATS)


def type_named(dtype_name: str) -> ElementType:
    """The element type of a dtype name: ``"float32"``, ``"bfloat16"``..."""
    return next(t for t in ALL_TYPES if t.dtype_name == dtype_name)


def type_id(element_type: ElementType) -> str:
    """Name of an element type in the name of a test."""
    return element_type.dtype_name


def numpy_dtype(element_type: ElementType) -> np.dtype[Any]:
    """NumPy dtype of an element type, bfloat16 by ml_dtypes."""
    if element_type.dtype_name == "bfloat16":
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(element_type.dtype_name)


def bits_dtype(element_type: ElementType) -> np.dtype[Any]:
    """Unsigned integers of the element's width."""
    return np.dtype(f"u{element_type.itemsize}")


def from_bits(element_type: ElementType, bits: Array | Iterable[int]) -> Array:
    """Array of the elements whose bit patterns are given."""
    stored = bits if isinstance(bits, np.ndarray) else np.array(list(bits), np.uint64)
    return stored.astype(bits_dtype(element_type)).view(numpy_dtype(element_type))


def _nan_bits(element_type: ElementType) -> tuple[int, ...]:
    float_format = FLOAT_FORMATS.get(element_type.dtype_name)
    if float_format is None:
        return ()
    quiet = 1 << (float_format.significand_bits - 1)
    payloads = (1, quiet - 1, quiet, quiet | 1, 2 * quiet - 1)  # signalling first, then quiet
    return tuple(
        sign | float_format.infinity | payload
        for payload in payloads
        for sign in (0, float_format.sign)
    )


def _special_bits(element_type: ElementType) -> tuple[int, ...]:
    if element_type is BOOL:
        return (0, 1, 2, 255)  # any byte but 0 is True
    float_format = FLOAT_FORMATS.get(element_type.dtype_name)
    if float_format is None:
        width = 8 * element_type.itemsize
        mask = (1 << width) - 1
        half = 1 << (width - 1)
        # Neighbours of zero, of the signed and unsigned limits, and of the powers of two at
        # which a detour by a narrower integer or by a float would lose the difference.
        powers = [1 << power for power in (7, 8, 15, 16, 24, 31, 32, 53) if power < width]
        values = {0, 1, 2, 3, mask - 1, mask, half - 1, half, half + 1}
        values.update(power + step for power in powers for step in (-1, 0, 1))
        return tuple(sorted(value & mask for value in values))
    smallest_normal = 1 << float_format.significand_bits
    one = float_format.infinity // 2 & ~(smallest_normal - 1)
    magnitudes = (
        0,
        1,
        smallest_normal - 1,
        smallest_normal,
        one,
        one + 1,
        float_format.infinity - 1,
        float_format.infinity,
    )
    numbers = tuple(sign | m for m in magnitudes for sign in (0, float_format.sign))
    return numbers + NAN_BITS[element_type]


def _extreme_bits(element_type: ElementType, choose: Any) -> int:
    numbers = (b for b in SPECIAL_BITS[element_type] if b not in NAN_BITS[element_type])
    return choose(numbers, key=lambda bits: rank_of_bits(element_type.dtype_name, bits))


NAN_BITS: Final = {t: _nan_bits(t) for t in ALL_TYPES}
"""NaNs of both signs, quiet and signalling, of the smallest and the largest payload."""

SPECIAL_BITS: Final = {t: _special_bits(t) for t in ALL_TYPES}
"""Bit patterns at which implementations go wrong, NaNs included."""

LOWEST_BITS: Final = {t: _extreme_bits(t, min) for t in ALL_TYPES}
"""The lowest element: -inf, or the smallest integer."""

LARGEST_BITS: Final = {t: _extreme_bits(t, max) for t in ALL_TYPES}
"""The largest element that is no NaN: +inf, or the largest integer."""


def random_elements(
    element_type: ElementType, shape: tuple[int, ...], seed: int, *, special: bool = True
) -> Array:
    """Random elements: of the special ones, so that ties are common, or of all bit patterns."""
    generator = np.random.default_rng(seed)
    if special:
        pool = np.array(SPECIAL_BITS[element_type], bits_dtype(element_type))
        return from_bits(element_type, generator.choice(pool, shape))
    limit = np.iinfo(bits_dtype(element_type)).max
    bits = generator.integers(0, limit, shape, bits_dtype(element_type), endpoint=True)
    return from_bits(element_type, bits)
