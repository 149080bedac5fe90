# SPDX-License-Identifier: Apache-2.0
"""Boxes of an array: a slice for each axis, with steps of 1."""

from __future__ import annotations

__all__ = ["Box", "box_at", "box_text", "lengths_of", "offset_of", "whole_box"]

Box = tuple[slice, ...]


def box_at(offset: tuple[int, ...], lengths: tuple[int, ...]) -> Box:
    """The box of so many elements along each axis, from an offset on."""
    return tuple(slice(start, start + n) for start, n in zip(offset, lengths, strict=True))


def whole_box(shape: tuple[int, ...]) -> Box:
    """The box that is the whole array."""
    return tuple(slice(0, n) for n in shape)


def offset_of(box: Box) -> tuple[int, ...]:
    """Where in the array the box's first element lies."""
    return tuple(part.start for part in box)


def lengths_of(box: Box) -> tuple[int, ...]:
    """Shape of the box."""
    return tuple(part.stop - part.start for part in box)


def box_text(box: Box) -> str:
    """The box as Python writes an index, for a message."""
    return f"[{', '.join(f'{part.start}:{part.stop}' for part in box)}]"
