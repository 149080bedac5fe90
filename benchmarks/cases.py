# SPDX-License-Identifier: Apache-2.0
"""The named cases, as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

__all__ = ["CASES", "TYPES", "Case", "chosen"]

TYPES: Final = {
    "f32": "float32",
    "u8": "uint8",
    "i8": "int8",
    "u16": "uint16",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "f64": "float64",
    "u32": "uint32",
    "u64": "uint64",
    "bf16": "bfloat16",
}
"""The operator's element types; the short names are those in the names of the cases."""


@dataclass(frozen=True)
class Case:
    """One thing to measure; its name is unique."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    axis: int | None
    layout: str = "contiguous"
    select_last_index: bool = False
    result: str = "int64"
    kind: str = "random"
    overhead: bool = False
    """The plain call, with a new result each time; elsewhere everybody who can writes into the
    same result again and again, so that nobody is timed on the operating system's memory."""

    @property
    def group(self) -> str:
        return self.name.partition("/")[0]


# Cityscapes, Pascal VOC and ADE20K at the sizes their networks give.
_CITYSCAPES: Final = (1, 19, 1024, 2048)
_ADE20K: Final = (1, 150, 512, 512)
_CLASS_MAPS: Final = (
    # Smaller where 6 types, first and last index, and peers of half a second a call meet.
    (8, 19, 256, 512),
    (1, 21, 513, 513),
    (8, 21, 257, 257),
    (1, 150, 256, 256),
    (8, 150, 128, 128),
)
_CLASS_MAP_TYPES: Final = ("f32", "f16", "bf16", "f64", "u8", "i8")
_ROW_LENGTHS: Final = (2, 3, 4, 7, 8, 10, 16, 19, 21, 32, 33, 64, 65, 100, 128, 150, 200, 256, 300)
_ROWS_ELEMENTS: Final = 1 << 22


def _case(
    group: str, shape: tuple[int, ...], short: str, axis: int | None, **more: object
) -> Case:
    size = "x".join(map(str, shape))
    return Case(f"{group}/{size}/{short}", shape, TYPES[short], axis, **more)  # type: ignore[arg-type]


def _power(group: str, exponent: int, short: str) -> Case:
    return Case(f"{group}/2^{exponent}/{short}", (1 << exponent,), TYPES[short], 0)


def _all() -> Iterator[Case]:
    yield _case("class-map", _ADE20K, "f32", 1)
    for shape in (_CITYSCAPES, *_CLASS_MAPS):
        for short in _CLASS_MAP_TYPES:
            yield _case("class-map", shape, short, 1)
    for shape, shorts in (
        ((1024, 2048, 19), ("f32", "f16", "u8")),
        ((8, 257, 257, 21), ("f32",)),
        ((512, 512, 150), ("f32",)),
    ):
        for short in shorts:
            yield _case("interleaved", shape, short, len(shape) - 1)
    for short in ("f32", "f16"):
        yield _case("channels-last", _CITYSCAPES, short, 1, layout="channels-last")
    yield _case("channels-last", (8, 21, 257, 257), "f32", 1, layout="channels-last")
    for shape in ((1, 89, 6906), (16, 89, 18385)):
        yield _case("ocr", shape, "f32", 2)
    for shape in ((1, 128256), (32, 128256), (512, 32000)):
        for short in ("f32", "f16", "bf16"):
            yield _case("token", shape, short, -1)
    for shape in ((1, 1000), (1024, 1000), (1_000_000, 10)):
        yield _case("classifier", shape, "f32", 1)
    yield _case("volume", (2, 256, 256, 256), "f32", 0)
    for side in (4096, 4097):
        yield _case("square", (side, side), "f32", 0)
    for inner in (1280, 1281):
        yield _case("middle", (100, 240, inner), "f32", 1)
    for exponent in (24, 27):
        for short in TYPES:
            yield _power("row", exponent, short)
    for length in _ROW_LENGTHS:
        yield _case("rows", (_ROWS_ELEMENTS // length, length), "f32", 1)
    for length in (3, 19, 100):
        for short in ("f16", "u8"):
            yield _case("rows", (_ROWS_ELEMENTS // length, length), short, 1)
    for layout in ("transposed", "reversed", "broadcast", "step-2"):
        for axis, direction in ((0, "columns"), (1, "rows")):
            yield _case(f"view/{layout}/{direction}", (1024, 4096), "f32", axis, layout=layout)
    for short in ("f32", "f16"):
        yield _case("byte-swapped", (1, 19, 512, 1024), short, 1, layout="byte-swapped")
        yield _case("byte-swapped", (1024, 4096), short, 1, layout="byte-swapped")
    for shape in ((1, 19, 512, 1024), *_CLASS_MAPS):
        for short in _CLASS_MAP_TYPES:
            yield _case("last-index", shape, short, 1, select_last_index=True)
    for short in ("f32", "f16", "u8"):
        yield _case("narrow", _CITYSCAPES, short, 1, result="uint8")
    for short in ("f32", "f16", "u8"):
        yield _case("flattened", (19, 1024, 1024), short, None)
    for shape in ((8,), (8, 128), (1, 1000)):
        yield _case("call", shape, "f32", -1, overhead=True)


CASES: Final = tuple(_all())

_QUICK: Final = (
    "class-map/1x19x1024x2048/f32",
    "class-map/1x21x513x513/f16",
    "class-map/1x21x513x513/u8",
    "interleaved/1024x2048x19/f32",
    "token/32x128256/f32",
    "token/32x128256/bf16",
    "classifier/1024x1000/f32",
    "classifier/1000000x10/f32",
    "square/4096x4096/f32",
    "row/2^24/f32",
    "row/2^24/f16",
    "row/2^24/i8",
    "view/step-2/columns/*",
    "last-index/1x21x513x513/f32",
    "call/8x128/f32",
)
"""At least one case of each kernel, and short ones where there is a choice."""


def chosen(patterns: Iterable[str] = (), *, quick: bool = False) -> list[Case]:
    """The cases whose name matches any of the patterns (all of them where there is none).

    Raises
    ------
    ValueError
        For a pattern that matches nothing.
    """
    cases = [case for case in CASES if not quick or _matches(case, _QUICK)]
    patterns = list(patterns)
    for pattern in patterns:
        if not any(_matches(case, (pattern,)) for case in cases):
            groups = ", ".join(sorted({case.group for case in cases}))
            raise ValueError(
                f"--case: {pattern!r} matches no case{' of --quick' if quick else ''}; a pattern "
                f"is a name with * in it, such as 'class-map/*/f16'; the groups are {groups}"
            )
    return [case for case in cases if not patterns or _matches(case, patterns)]


def _matches(case: Case, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(case.name, pattern) for pattern in patterns)
