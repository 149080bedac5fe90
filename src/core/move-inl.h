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

// Calls run with the function that gives item i's place: offsets, or a stride, of which one to
// four items are known to the compiler, which shuffles vectors for them.
template <int64_t kSize, class Run>
inline void at_places(const int64_t* offsets, int64_t stride, Run run) {
  if (offsets != nullptr) {
    run([=](int64_t i) { return offsets[i]; });
  } else if (stride == kSize) {
    run([](int64_t i) { return i * kSize; });
  } else if (stride == 2 * kSize) {
    run([](int64_t i) { return i * 2 * kSize; });
  } else if (stride == 3 * kSize) {
    run([](int64_t i) { return i * 3 * kSize; });
  } else if (stride == 4 * kSize) {
    run([](int64_t i) { return i * 4 * kSize; });
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
inline void store_items(const StoreArgs& args, const Index* __restrict index, int64_t count,
                        uint8_t* __restrict out, Place place) {
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

// Adjacent results past the caches: a buffer's worth at a time, of which whole aligned vectors are
// streamed. A store through the caches would first read the line that it replaces.
template <class Index, class Result>
void stream_indices(const StoreArgs& args) {
  constexpr int64_t kSize = sizeof(Result);
  constexpr int64_t kBuffered = 2048 / kSize;
  const auto* const index = static_cast<const Index*>(args.index);
  alignas(kVectorBytes) uint8_t buffer[kBuffered * kSize];
  const auto misplaced =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(args.out)) % kVectorBytes;
  int64_t done = 0;
  for (int64_t next = 0; done < args.count; done = next) {
    // The first piece ends at an aligned address, so that the others begin there.
    next = done + kBuffered - (done == 0 ? misplaced / kSize : 0);
    next = next < args.count ? next : args.count;
    store_items<Index, Result>(args, index + done, next - done, buffer,
                               [](int64_t i) { return i * kSize; });
    uint8_t* const to = args.out + done * kSize;
    const int64_t bytes = (next - done) * kSize;
    const int64_t streamed = done == 0 && misplaced != 0 ? 0 : bytes / kVectorBytes * kVectorBytes;
    for (int64_t at = 0; at < streamed; at += kVectorBytes) {
      stream(to + at, load<Vector<uint64_t>>(buffer + at));
    }
    std::memcpy(to + streamed, buffer + streamed, static_cast<size_t>(bytes - streamed));
  }
}

template <class Index, class Result>
void store_indices(const StoreArgs& args) {
  constexpr int64_t kSize = sizeof(Result);
  const bool adjacent = args.offsets == nullptr && args.stride_bytes == kSize;
  const bool aligned = reinterpret_cast<uintptr_t>(args.out) % kSize == 0;
  if (args.past_caches && adjacent && aligned) {
    stream_indices<Index, Result>(args);
    return;
  }
  at_places<kSize>(args.offsets, args.stride_bytes, [&](auto place) {
    store_items<Index, Result>(args, static_cast<const Index*>(args.index), args.count, args.out,
                               place);
  });
}

}  // namespace
}  // namespace onnx_argmax
