# SPDX-License-Identifier: Apache-2.0
"""Program: partial results, their blocks and their merge between pages that nobody may touch.

``main(level, edge)``, for a process of its own; the last case that is printed is the one under
way. Run by ``test_partial.py``; ``fenced.py`` says how the fence works.
"""

from __future__ import annotations

import itertools

import numpy as np

from arrangements import ARRANGEMENTS
from chunks import Reduction
from fenced import Fence
from machine import Setting, running
from onnx_argmax._partial import Partials
from oracle import fast_argmax
from samples import ALL_TYPES, random_elements

SIZES = tuple(itertools.product((1, 2, 5, 19, 64, 65, 200), (1, 7, 66)))
STEPS = (1, 2, -3)


def fenced_partials(fence: Fence, partials: Partials, step: int) -> Partials:
    """A copy of partial results, each so many places behind the other."""
    places = max(partials.size - 1, 0) * abs(step) + 1
    memory = fence.allocate(places * partials.itemsize)
    copy = np.frombuffer(memory, partials.dtype)[::step].reshape(partials.shape)
    copy[...] = partials
    return copy


def main(level: str, edge: str) -> None:
    data_fence, into_fence, other_fence = (Fence(1 << 20, edge) for _ in range(3))
    for element_type, (name, arrangement) in itertools.product(ALL_TYPES, ARRANGEMENTS.items()):
        print(element_type.dtype_name, name, flush=True)
        for number, (length, count) in enumerate(SIZES):
            lines = random_elements(element_type, (count, length), number)
            block = arrangement.arrange(lines, data_fence.allocate)
            axis = arrangement.axis
            for index_size, last in ((4, False), (8, True)):
                whole = list(block.shape)
                whole[axis] += 10 if index_size == 4 else 2**31
                reduction = Reduction(element_type, tuple(whole), axis, last)
                offset = tuple(10 * (a == axis) for a in range(block.ndim))
                step = STEPS[number % len(STEPS)]
                into = fenced_partials(into_fence, reduction.nothing(), step)
                other = fenced_partials(other_fence, reduction.nothing(), -step)
                with running(Setting(level, 1 + number % 3)) as setting:
                    reduction.part(block, offset, setting.threads, out=other)
                reduction.merge(into, other)
                expected = fast_argmax(block, axis, True, last) + 10
                assert into.dtype["index"].itemsize == index_size
                assert np.array_equal(into["index"], expected), (length, count, setting)


if __name__ == "__main__":
    raise SystemExit("run by test_partial.py")
