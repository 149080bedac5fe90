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

template <class T, bool kSwap, class Place>
inline void pack_items(const PackArgs& args, Place place) {
  for (int64_t i = 0; i < args.count; ++i) {
    const T value = load<T>(args.data + place(i));
    store(args.to + i * static_cast<int64_t>(sizeof(T)), kSwap ? reverse_bytes(value) : value);
  }
}

template <class T, bool kSwap>
void pack_as(const PackArgs& args) {
  constexpr int64_t kSize = sizeof(T);
  if (args.offsets != nullptr) {
    pack_items<T, kSwap>(args, [&](int64_t i) { return args.offsets[i]; });
  } else if (args.stride_bytes == kSize) {
    pack_items<T, kSwap>(args, [](int64_t i) { return i * kSize; });
  } else {
    pack_items<T, kSwap>(args, [&](int64_t i) { return i * args.stride_bytes; });
  }
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
  const auto* const index = static_cast<const Index*>(args.index);
  // Unsigned arithmetic of the result's own width: the value fits (the caller has checked), and
  // wrapping on the way there is harmless.
  const auto bias = static_cast<Result>(args.bias);
  const auto sign = static_cast<Result>(args.sign);
  for (int64_t i = 0; i < args.count; ++i) {
    const auto value = static_cast<Result>(bias + static_cast<Result>(index[i]) * sign);
    store(args.out + place(i), value);
  }
}

template <class Index, class Result>
void store_indices(const StoreArgs& args) {
  constexpr int64_t kSize = sizeof(Result);
  if (args.offsets != nullptr) {
    store_items<Index, Result>(args, [&](int64_t i) { return args.offsets[i]; });
  } else if (args.stride_bytes == kSize) {
    store_items<Index, Result>(args, [](int64_t i) { return i * kSize; });
  } else {
    store_items<Index, Result>(args, [&](int64_t i) { return i * args.stride_bytes; });
  }
}

}  // namespace
}  // namespace onnx_argmax
