# SPDX-License-Identifier: Apache-2.0
"""Amounts of memory, as people write them."""

from __future__ import annotations

import operator
import re
from fractions import Fraction
from typing import Final

__all__ = ["bytes_of", "size_text"]

_UNITS: Final = {
    "": 1,
    "b": 1,
    **{f"{prefix}b": 1000**power for power, prefix in enumerate("kmgtp", 1)},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate("kmgtp", 1)},
}
_SIZE: Final = re.compile(r"\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-zA-Z]*)\s*")


def bytes_of(argument: str, size: object) -> int:
    """Bytes of an integer or of a text: ``"1 GiB"``, ``"512MiB"``, ``"2 GB"``, ``"1.5GiB"``.

    Raises
    ------
    TypeError
        When it is neither.
    ValueError
        When it names no unit that is known, or not one byte.
    """
    allowed = (
        "allowed are an integer of bytes and a text such as '512 MiB' or '2 GB', with B, KiB, "
        "MiB, GiB, TiB, PiB, kB, MB, GB, TB or PB"
    )
    if isinstance(size, str):
        found = _SIZE.fullmatch(size)
        unit = None if found is None else _UNITS.get(found["unit"].lower())
        if found is None or unit is None:
            raise ValueError(f"{argument}: {size!r} is no amount of memory; {allowed}")
        amount = int(Fraction(found["number"]) * unit)
    else:
        try:
            if isinstance(size, bool):
                raise TypeError
            amount = operator.index(size)  # pyright: ignore[reportArgumentType]
        except TypeError:
            raise TypeError(
                f"{argument}: {allowed}, got {size!r} of type {type(size).__name__}"
            ) from None
    if amount < 1:
        raise ValueError(f"{argument}: at least 1 byte is needed, got {size!r}")
    return amount


def size_text(amount: int) -> str:
    """An amount of bytes for a message, rounded up, so that it can be passed as it stands."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 10_000:
            return f"{amount} {unit}"
        amount = -(-amount // 1024)
    return f"{amount} TiB"
