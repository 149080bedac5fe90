// SPDX-License-Identifier: Apache-2.0
//
// The least that any ArgMax must do: read every byte once, write every byte of the result once.
#pragma once

#include <cstring>

#include "kernels.h"
#include "simd.h"

namespace onnx_argmax {
namespace {

// Depends on every byte, so that no read can be left out. Eight accumulators are two for each
// of the four loads that no processor of these levels exceeds a cycle.
inline uint64_t read_bytes(const uint8_t* data, int64_t bytes) {
  constexpr int kChains = 8;
  constexpr int64_t kStep = kChains * kVectorBytes;
  Vector<uint64_t> chain[kChains]{};
  int64_t at = 0;
  for (; at + kStep <= bytes; at += kStep) {
    for (int i = 0; i < kChains; ++i) {
      chain[i] |= load<Vector<uint64_t>>(data + at + i * kVectorBytes);
    }
  }
  for (int i = 1; i < kChains; ++i) chain[0] |= chain[i];
  uint64_t seen = 0;
  for (int lane = 0; lane < kLanes<uint64_t>; ++lane) seen |= chain[0][lane];
  for (; at < bytes; ++at) seen |= data[at];
  return seen;
}

inline void write_bytes(uint8_t* to, int64_t bytes, uint64_t value, bool past_caches) {
  const Vector<uint64_t> vector = splat<uint64_t>(value);
  const auto misplaced = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kVectorBytes);
  const int64_t head = misplaced == 0 ? 0 : kVectorBytes - misplaced;
  int64_t at = head < bytes ? head : bytes;
  std::memset(to, static_cast<int>(value & 0xff), static_cast<size_t>(at));
  for (; at + kVectorBytes <= bytes; at += kVectorBytes) {
    if (past_caches) {
      stream(to + at, vector);
    } else {
      store(to + at, vector);
    }
  }
  std::memset(to + at, static_cast<int>(value & 0xff), static_cast<size_t>(bytes - at));
  if (past_caches) finish_streams();
}

}  // namespace
}  // namespace onnx_argmax
