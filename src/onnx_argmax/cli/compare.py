# SPDX-License-Identifier: Apache-2.0
"""Outputs held against what was expected of them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

from onnx_argmax.cli.errors import CommandError

__all__ = ["agreement", "difference", "is_array"]

_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

# What ONNX's own test runner (onnx.backend.test) allows floats to differ by, since models do
# more than ArgMax and no two libraries add in the same order. Everything else must be equal.
_RELATIVE: Final = 1e-3
_ABSOLUTE: Final = 1e-7


def is_array(value: object) -> bool:
    """Whether a model's value is a tensor: neither a sequence, a map, nor absent."""
    return isinstance(value, (np.ndarray, np.generic))


def difference(actual: Any, expected: Any) -> str | None:
    """How an output differs from the expected one, in words; None where it does not.

    Type, shape and every element count; a sequence is compared element by element.
    """
    if is_array(actual) and is_array(expected):
        return _difference_of_arrays(np.asarray(actual), np.asarray(expected))
    if _is_list(actual) and _is_list(expected):
        return _difference_of_lists(actual, expected)
    if actual is None and expected is None:
        return None
    return f"{_kind(actual)}, expected {_kind(expected)}"


def agreement(output: str, actual: Any, key: str, wanted: _Array) -> str:
    """How many elements of an output agree with an array of the user's, in words.

    Axes of length 1 do not matter, so that labels of shape (N,) can be held against an ArgMax
    that keeps its reduced axis.

    Raises
    ------
    CommandError
        When the shapes differ otherwise, or one holds strings and the other numbers.
    """
    if not is_array(actual):
        raise CommandError(f"--compare {output}={key}: the output is {_kind(actual)}, no array")
    values: _Array = np.asarray(actual)
    if wanted.dtype == np.dtype("V2") and values.dtype.name == "bfloat16":
        wanted = wanted.view(values.dtype)  # NumPy's files keep bfloat16 so
    if values.squeeze().shape != wanted.squeeze().shape:
        raise CommandError(
            f"--compare {output}={key}: the output has shape {values.shape}, the array "
            f"{wanted.shape}; they must be the same, but for axes of length 1"
        )
    if _is_text(values) != _is_text(wanted):
        raise CommandError(
            f"--compare {output}={key}: the output holds {_type_name(values)}, the array "
            f"{_type_name(wanted)}, so they have nothing in common"
        )
    wanted = wanted.reshape(values.shape)
    same = _same(values, wanted)
    right = int(np.count_nonzero(same))
    return f"{output}: {right} of {same.size} agree with {key!r}{_first(values, wanted, same)}"


def _difference_of_lists(actual: list[Any], expected: list[Any]) -> str | None:
    if len(actual) != len(expected):
        return f"{len(actual)} elements, expected {len(expected)}"
    for position, pair in enumerate(zip(actual, expected, strict=True)):
        found = difference(*pair)
        if found is not None:
            return f"element {position}: {found}"
    return None


def _difference_of_arrays(actual: _Array, expected: _Array) -> str | None:
    if _type_name(actual) != _type_name(expected):
        return f"type {_type_name(actual)}, expected {_type_name(expected)}"
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    same = _same(actual, expected)
    wrong = same.size - int(np.count_nonzero(same))
    return f"{wrong} of {same.size} elements{_first(actual, expected, same)}" if wrong else None


def _same(actual: _Array, expected: _Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if _is_text(actual):
        return np.asarray(actual.astype(np.str_) == expected.astype(np.str_))
    actual, expected = _of_numpy(actual), _of_numpy(expected)
    if not {actual.dtype.kind, expected.dtype.kind} & set("fc"):
        return np.asarray(actual == expected)
    with np.errstate(all="ignore"):
        return np.asarray(
            np.isclose(actual, expected, rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True)
        )


def _of_numpy(array: _Array) -> _Array:
    """ml_dtypes' types of up to 16 bits, all of whose values float32 has, as float32."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _first(actual: _Array, expected: _Array, same: np.ndarray[Any, Any]) -> str:
    if same.all():
        return ""
    where = tuple(int(i) for i in np.argwhere(~same)[0])
    at = f"the first at {list(where)}: " if where else ""
    return f"; {at}{actual[where]}, expected {expected[where]}"


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_text(array: _Array) -> bool:
    return array.dtype.kind in "OSUT"


def _type_name(array: _Array) -> str:
    return "string" if _is_text(array) else str(array.dtype)


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
