// SPDX-License-Identifier: Apache-2.0
//
// Moves between the caller's memory and a tile: packing items of any strides, storing indices
// as the result's type.
#pragma once

#include <cstring>

#include "kernels.h"
#include "simd.h"

namespace onnx_argmax {
namespace {

template <class T>
inline T reverse_bytes(T value) {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

// Calls run with the function that gives item i's place: offsets, or a stride, of which one and
// two items are known to the compiler.
template <int64_t kSize, class Run>
inline void at_places(const int64_t* offsets, int64_t stride, Run run) {
  if (offsets != nullptr) {
    run([=](int64_t i) { return offsets[i]; });
  } else if (stride == kSize) {
    run([](int64_t i) { return i * kSize; });
  } else if (stride == 2 * kSize) {
    run([](int64_t i) { return i * 2 * kSize; });
  } else {
    run([=](int64_t i) { return i * stride; });
  }
}

// Each loop works on copies of its arguments that do not overlap: a store of bytes could else be
// one to the arguments themselves, and nothing would be vectorised.

template <class T, bool kSwap, class Place>
inline void pack_items(const uint8_t* __restrict data, int64_t count, uint8_t* __restrict to,
                       Place place) {
  for (int64_t i = 0; i < count; ++i) {
    const T value = load<T>(data + place(i));
    store(to + i * static_cast<int64_t>(sizeof(T)), kSwap ? reverse_bytes(value) : value);
  }
}

template <class T, bool kSwap>
void pack_as(const PackArgs& args) {
  at_places<sizeof(T)>(args.offsets, args.stride_bytes, [&](auto place) {
    pack_items<T, kSwap>(args.data, args.count, args.to, place);
  });
}

template <class T>
void pack(const PackArgs& args) {
  if (args.byte_swapped) {
    pack_as<T, true>(args);
  } else {
    pack_as<T, false>(args);
  }
}

template <class Index, class Result, class Place>
inline void store_items(const StoreArgs& args, Place place) {
  const auto* const __restrict index = static_cast<const Index*>(args.index);
  uint8_t* const __restrict out = args.out;
  const int64_t count = args.count;
  // Unsigned arithmetic of the result's own width: the value fits (the caller has checked), and
  // wrapping on the way there is harmless. x ^ -1 is -x - 1.
  const auto bias = static_cast<Result>(args.bias);
  const auto mirror = static_cast<Result>(args.mirrored ? -1 : 0);
  for (int64_t i = 0; i < count; ++i) {
    const auto value =
        static_cast<Result>(bias + (static_cast<Result>(index[i]) ^ mirror) - mirror);
    store(out + place(i), value);
  }
}

template <class Index, class Result>
void store_indices(const StoreArgs& args) {
  at_places<sizeof(Result)>(args.offsets, args.stride_bytes,
                            [&](auto place) { store_items<Index, Result>(args, place); });
}

}  // namespace
}  // namespace onnx_argmax
