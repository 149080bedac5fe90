# SPDX-License-Identifier: Apache-2.0
"""A stand-in for ONNX Runtime that hands the library whatever a test wants.

It has just the functions that the library uses, by the slots of the C interface, and counts what
is made and released. ``Faults`` makes one call of them fail, or hand over nothing, or throw its
answer away; ``life_of_a_node`` is everything that a runtime does with the library, once.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = [
    "UNWRITTEN",
    "UNWRITTEN_ROOM",
    "Faults",
    "Node",
    "StandIn",
    "Tensor",
    "life_of_a_node",
    "load",
]

API_VERSION: Final = 24
API_SLOTS: Final = 424
EP_API_SLOTS: Final = 73
FACTORY_BYTES: Final = 168
UNWRITTEN: Final = -7
UNWRITTEN_ROOM: Final = 8
"""Elements behind an output, which nobody may write."""
P: Final = c_void_p


@dataclass(frozen=True)
class Node:
    """The ArgMax node of the graph."""

    attributes: dict[str, int] = field(default_factory=dict)
    since_version: int = 13
    element_type: int = 1
    name: bytes = b"labels"
    operator: bytes = b"ArgMax"
    domain: bytes = b""
    owner: bytes | None = None
    has_kernel: bool = True
    """Whether the runtime finds one, where there is one of its version."""


@dataclass(frozen=True)
class Tensor:
    """The input of a run."""

    shape: tuple[int, ...] = (2, 3)
    element_type: int = 1
    data: bytes | None = struct.pack("<6f", 1, 5, 2, 9, 3, 4)


@dataclass
class Faults:
    """What goes wrong: the call of that number, counted from 1; 0 for none."""

    failing_call: int = 0
    """It returns a status, and does nothing."""
    empty_call: int = 0
    """It succeeds, and hands over nothing."""


class StandIn:
    """Tables of functions, and an account of what is made and not yet released."""

    def __init__(self, node: Node, faults: Faults, options: dict[bytes, bytes]) -> None:
        self.node, self.faults, self.options = node, faults, options
        self.calls = 0
        self.slots: list[int] = []
        self.live: dict[int, str] = {}
        self.messages: dict[int, str] = {}
        self.log: list[str] = []
        self.definitions: list[dict[str, Any]] = []
        self.kernels: list[tuple[int, int, int]] = []
        self.added_nodes = 0
        self.parallel: list[tuple[int, int, int]] = []
        """Parts, batches, and elements of the output that none of the parts wrote."""
        self.devices_made = 0
        self.tensor: Tensor | None = None
        self.output_shape: tuple[int, ...] | None = None
        self.output: Any = None
        self._numbers = itertools.count(0x1000, 16)
        self._kept: list[Any] = []
        self.ep_api = (P * EP_API_SLOTS)()
        self.api = (P * API_SLOTS)()
        self._fill()

    # What is made and released.

    def make(self, kind: str) -> int:
        number = next(self._numbers)
        self.live[number] = kind
        return number

    def release(self, number: int) -> None:
        if number:
            del self.live[number]  # an error, where it is not live

    def status(self, words: str) -> int:
        number = self.make("status")
        self.messages[number] = words
        return number

    def take_status(self, number: int | None) -> str | None:
        """Words of a status that came back, which is released; None for success."""
        if not number:
            return None
        self.release(number)
        return self.messages[number]

    # Putting functions into a table.

    def _put(self, table: Any, slot: int, result: Any, kinds: tuple[Any, ...], call: Any) -> None:
        function = CFUNCTYPE(result, *kinds)(call)
        self._kept.append(function)
        table[slot] = ctypes.cast(function, P).value

    def _status_call(
        self, table: Any, slot: int, kinds: tuple[Any, ...], call: Callable[..., int | None]
    ) -> None:
        """A function that returns a status, and that may be made to fail."""

        def counted(*arguments: Any) -> int:
            self.slots.append(slot)
            self.calls += 1
            if self.calls == self.faults.failing_call:
                return self.status(f"made to fail: call {self.calls}, slot {slot}")
            if self.calls == self.faults.empty_call:
                return 0
            return call(*arguments) or 0

        self._put(table, slot, P, kinds, counted)

    def _keep(self, value: Any) -> Any:
        self._kept.append(value)
        return value

    def _text(self, text: bytes) -> int:
        return ctypes.cast(self._keep(c_char_p(text)), P).value or 0

    def _fill(self) -> None:
        self._fill_statuses_and_options()
        self._fill_graph()
        self._fill_kernel()
        self._fill_registry()

    def _fill_statuses_and_options(self) -> None:
        api = self.api
        self._put(api, 0, P, (c_int32, c_char_p), lambda _, text: self.status(text.decode()))
        self._put(api, 2, P, (P,), lambda number: self._text(self.messages[number].encode()))
        self._put(api, 93, None, (P,), self.release)
        self._put(api, 307, c_int32, (P,), lambda device: 0 if device == 0xC0 else 1)
        self._put(api, 317, P, (), lambda: ctypes.addressof(self.ep_api))
        self._put(api, 300, None, (P,), self.release)
        keys = self._keep((c_char_p * len(self.options))(*self.options))
        values = self._keep((c_char_p * len(self.options))(*self.options.values()))

        def pairs(_: int, key_place: Any, value_place: Any, count: Any) -> None:
            key_place[0], value_place[0] = ctypes.addressof(keys), ctypes.addressof(values)
            count[0] = len(self.options)

        self._put(api, 298, None, (P, POINTER(P), POINTER(P), POINTER(c_size_t)), pairs)
        self._status_call(api, 379, (P, POINTER(P)), self._giver("key-value pairs"))

        def log(_: int, severity: int, text: bytes, *__: Any) -> None:
            self.log.append(f"{severity} {text.decode()}")

        self._status_call(api, 247, (P, c_int32, c_char_p, P, c_int32, c_char_p), log)
        self._status_call(api, 248, (P, POINTER(c_int32)), self._setter(lambda: 0))

    def _giver(self, kind: str) -> Callable[..., None]:
        """A function that makes an object and puts it in its last argument."""

        def give(*arguments: Any) -> None:
            arguments[-1][0] = self.make(kind)

        return give

    def _setter(self, value: Callable[[], int | None]) -> Callable[..., None]:
        def set_it(*arguments: Any) -> None:
            arguments[-1][0] = value()

        return set_it

    def _fill_graph(self) -> None:
        api, node = self.api, self.node

        def nodes(_: int, place: Any, count: int) -> None:
            for i in range(count):
                place[i] = 0xA0

        def text(value: bytes | None) -> Callable[..., None]:
            return self._setter(lambda: None if value is None else self._text(value))

        self._status_call(api, 344, (P, POINTER(c_size_t)), self._setter(lambda: 1))
        self._status_call(api, 345, (P, POINTER(P), c_size_t), nodes)
        self._status_call(api, 349, (P, POINTER(P)), text(node.name))
        self._status_call(api, 350, (P, POINTER(P)), text(node.operator))
        self._status_call(api, 351, (P, POINTER(P)), text(node.domain))
        self._status_call(
            api, 352, (P, POINTER(ctypes.c_int)), self._setter(lambda: node.since_version)
        )
        self._status_call(api, 353, (P, POINTER(c_size_t)), self._setter(lambda: 1))
        self._status_call(api, 354, (P, POINTER(P), c_size_t), nodes)
        self._status_call(api, 368, (P, POINTER(P)), text(node.owner))
        self._status_call(api, 290, (P, POINTER(P)), self._setter(lambda: 0xA1))
        self._status_call(api, 55, (P, POINTER(P)), self._setter(lambda: 0xA2))
        self._status_call(api, 60, (P, POINTER(c_int32)), self._setter(lambda: node.element_type))

    def _fill_kernel(self) -> None:
        api = self.api

        def attribute(_: int, name: bytes, place: Any) -> int | None:
            value = self.node.attributes.get(name.decode())
            if value is None:
                return self.status(f"there is no attribute {name.decode()}")
            place[0] = value
            return None

        def name(text: bytes) -> Callable[..., None]:
            def write(*arguments: Any) -> None:
                place, size = arguments[-2:]
                if place:
                    ctypes.memmove(place, text + b"\0", len(text) + 1)
                size[0] = len(text) + 1

            return write

        self._status_call(api, 86, (P, c_char_p, POINTER(c_int64)), attribute)
        self._status_call(api, 244, (P, P, POINTER(c_size_t)), name(self.node.name))
        self._status_call(api, 233, (P, c_size_t, P, POINTER(c_size_t)), name(b"reduced"))
        self._status_call(
            api,
            90,
            (P, c_size_t, POINTER(P)),
            self._setter(lambda: None if self.tensor is None else 0xB0),
        )
        self._status_call(
            api, 414, (P, POINTER(c_int32), POINTER(P), POINTER(c_size_t)), self._type
        )
        self._status_call(
            api, 91, (P, c_size_t, POINTER(c_int64), c_size_t, POINTER(P)), self._make_output
        )
        self._status_call(
            api, 51, (P, POINTER(P)), self._setter(lambda: ctypes.addressof(self.output))
        )
        self._status_call(api, 378, (P, POINTER(P)), self._setter(self._address_of_data))
        self._status_call(
            api, 274, (P, CFUNCTYPE(None, P, c_size_t), c_size_t, c_size_t, P), self._run_tasks
        )

    def _type(self, _: int, element_type: Any, shape: Any, rank: Any) -> None:
        assert self.tensor is not None
        lengths = self._keep((c_int64 * len(self.tensor.shape))(*self.tensor.shape))
        element_type[0] = self.tensor.element_type
        shape[0], rank[0] = ctypes.addressof(lengths), len(self.tensor.shape)

    def _make_output(self, _: int, __: int, shape: Any, rank: int, place: Any) -> None:
        self.output_shape = tuple(shape[i] for i in range(rank))
        count = 1
        for length in self.output_shape:
            count *= length
        # Beside the elements, room that must stay as it is.
        self.output = (c_int64 * (count + UNWRITTEN_ROOM))(*[UNWRITTEN] * (count + UNWRITTEN_ROOM))
        place[0] = 0xB1

    def _address_of_data(self) -> int | None:
        assert self.tensor is not None
        if self.tensor.data is None:
            return None
        return self._text(self.tensor.data)

    def _run_tasks(self, _: int, task: Any, count: int, batches: int, context: int) -> None:
        for number in range(count):
            task(context, number)
        unwritten = list(self.output).count(UNWRITTEN) - UNWRITTEN_ROOM
        self.parallel.append((count, batches, unwritten))

    def _fill_registry(self) -> None:
        api = self.ep_api

        def device(*arguments: Any) -> None:
            self.devices_made += 1
            arguments[-1][0] = self.make("device")

        def add_kernel(_: int, definition: int, create: int, state: int) -> None:
            self.kernels.append((definition, create, state))

        def set_field(name: str) -> Callable[..., None]:
            def set_it(_: int, *values: Any) -> None:
                self.definitions[-1][name] = values[0] if len(values) == 1 else values

            return set_it

        def types(_: int, name: bytes, place: Any, count: int) -> None:
            self.definitions[-1]["types"] = {name: [place[i] for i in range(count)]}

        def builder(place: Any) -> None:
            self.definitions.append({})
            place[0] = self.make("builder")

        def look_up(_: int, __: int, place: Any) -> None:
            starts = [d.get("versions", (0, 0))[0] for d in self.definitions]
            found = self.node.has_kernel and self.node.since_version in starts
            place[0] = 0xD0 if found else None

        self._status_call(api, 0, (P, P, P, P, POINTER(P)), device)
        self._put(api, 1, None, (P,), self.release)

        def add_node(*_: Any) -> None:
            self.added_nodes += 1

        self._status_call(api, 3, (P, P), add_node)
        self._status_call(api, 18, (POINTER(P),), self._giver("registry"))
        self._put(api, 19, None, (P,), self.release)
        self._status_call(api, 20, (P, P, P, P), add_kernel)
        self._status_call(api, 21, (POINTER(P),), builder)
        self._put(api, 22, None, (P,), self.release)
        self._status_call(api, 23, (P, c_char_p), set_field("operator"))
        self._status_call(api, 24, (P, c_char_p), set_field("domain"))
        self._status_call(api, 25, (P, c_int32, c_int32), set_field("versions"))
        self._status_call(api, 26, (P, c_char_p), set_field("provider"))
        self._status_call(api, 29, (P, c_char_p, POINTER(P), c_size_t), types)
        self._status_call(api, 32, (P, POINTER(P)), self._giver("definition"))
        self._put(api, 33, None, (P,), self.release)

        def data_type(number: int, place: Any) -> None:
            place[0] = 0xE00 + number

        self._status_call(api, 40, (c_int32, POINTER(P)), data_type)
        self._status_call(api, 41, (P, P, POINTER(P)), look_up)

    def base(
        self, versions: Callable[[int], bool] = lambda _: True, name: bytes | None = b"1.99.0"
    ) -> Any:
        """The first table, which has a table of functions for some versions alone."""
        table = self._keep((P * 2)())
        has_table = CFUNCTYPE(P, ctypes.c_uint32)(
            lambda version: ctypes.addressof(self.api) if versions(version) else None
        )
        get_version = CFUNCTYPE(P)(lambda: None if name is None else self._text(name))
        for slot, function in enumerate((has_table, get_version)):
            table[slot] = ctypes.cast(self._keep(function), P).value
        return table


def load(path: str) -> ctypes.CDLL:
    """The library, its two functions declared."""
    library = ctypes.CDLL(path)
    library.CreateEpFactories.restype = P
    library.CreateEpFactories.argtypes = [c_char_p, P, P, P, c_size_t, P]
    library.ReleaseEpFactory.restype = P
    library.ReleaseEpFactory.argtypes = [P]
    return library


def _field(struct_address: int, offset: int, result: Any, *kinds: Any) -> Any:
    address = P.from_address(struct_address + offset).value
    assert address is not None
    return CFUNCTYPE(result, P, *kinds)(address)


def create_factory(library: ctypes.CDLL, stand_in: StandIn, base: Any) -> tuple[int, str | None]:
    """Address of the factory (0: none), and the words of the status."""
    factories, count = (P * 1)(), c_size_t(99)
    status = library.CreateEpFactories(b"name", base, 0x10, factories, 1, byref(count))
    words = stand_in.take_status(status)
    assert count.value == (1 if factories[0] else 0)
    return factories[0] or 0, words


def life_of_a_node(
    library: ctypes.CDLL, stand_in: StandIn, tensors: list[Tensor | None]
) -> list[str | tuple[tuple[int, ...] | None, list[int]] | None]:
    """Register, make a provider and a kernel, run it on each tensor, and release everything.

    Returns the words of each status, or the outputs of a run that succeeded. What follows on a
    call that failed is left out, as a runtime leaves it out.
    """
    factory, words = create_factory(library, stand_in, stand_in.base())
    if not factory:
        return [words]
    outcomes: list[Any] = []
    _devices(stand_in, factory, outcomes)
    ep = c_void_p()
    create = _field(factory, 32, P, P, P, c_size_t, P, P, POINTER(P))
    outcomes.append(stand_in.take_status(create(factory, None, None, 1, 0x20, 0x21, byref(ep))))
    if ep.value:
        _sessions_life(stand_in, ep.value, tensors, outcomes)
    # A session outlives the registration here.
    assert library.ReleaseEpFactory(factory) is None
    if ep.value:
        _field(factory, 40, None, P)(factory, ep.value)
    return outcomes


def _devices(stand_in: StandIn, factory: int, outcomes: list[Any]) -> None:
    hardware, devices, count = (P * 3)(0xC0, 0xC1, 0xC0), (P * 4)(), c_size_t(9)
    get = _field(factory, 24, P, POINTER(P), c_size_t, POINTER(P), c_size_t, POINTER(c_size_t))
    words = stand_in.take_status(get(factory, hardware, 3, devices, 4, byref(count)))
    outcomes.append(words)
    assert count.value == (0 if words else 2)
    for i in range(count.value):
        if devices[i]:
            stand_in.release(devices[i])


def _sessions_life(
    stand_in: StandIn, ep: int, tensors: list[Tensor | None], outcomes: list[Any]
) -> None:
    take = stand_in.take_status
    outcomes.append(take(_field(ep, 16, P, P, P)(ep, 0x30, 0x31)))
    registry = c_void_p()
    outcomes.append(take(_field(ep, 104, P, POINTER(P))(ep, byref(registry))))
    assert registry.value
    for definition, (_, create, state) in zip(
        stand_in.definitions, stand_in.kernels, strict=False
    ):
        if definition.get("versions", (None,))[0] != stand_in.node.since_version:
            continue
        kernel = c_void_p()
        make = CFUNCTYPE(P, P, P, POINTER(P))(create)
        outcomes.append(take(make(state, 0x40, byref(kernel))))
        if not kernel.value:
            continue
        for stand_in.tensor in tensors:
            stand_in.output_shape = stand_in.output = None
            words = take(_field(kernel.value, 8, P, P)(kernel.value, 0x41))
            outcomes.append(words if words else (stand_in.output_shape, list(stand_in.output)))
        _field(kernel.value, 16, None)(kernel.value)
