// SPDX-License-Identifier: Apache-2.0
//
// Partial results whose key and index have 4 bytes each: a number of 8 bytes, of which the key is
// the lower half and the index the upper.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels.h"
#include "simd.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the key comes first in memory"
#endif

namespace onnx_argmax {
namespace {

template <class Index>
void store_pairs(const StoreArgs& args, const int64_t* ordered_keys) {
  const auto* const __restrict index = static_cast<const Index*>(args.index);
  const int64_t* const __restrict keys = ordered_keys;
  uint8_t* const __restrict out = args.out;
  const int64_t count = args.count;
  // As store_items() does it, with what wraps beyond 4 bytes shifted out.
  const auto bias = static_cast<uint64_t>(args.bias);
  const uint64_t mirror = args.mirrored ? ~uint64_t{0} : 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t value = bias + (index[i] ^ mirror) - mirror;
    const auto key = static_cast<uint64_t>(keys[i]) & std::numeric_limits<uint32_t>::max();
    store(out + i * kPairBytes, value << 32 | key);
  }
}

// Pairs as numbers of which the larger one wins: the key above the index counted from the other
// end, or, where the last of equal elements is taken, the index plus one. Nothing yet has 0 there.
struct PairOrder {
  int64_t sign;
  int64_t flip;
  int64_t add;

  template <class V>
  V rank(V pair) const {
    return ((pair << 32) ^ sign) |
           (((pair >> 32 ^ flip) + add) & int64_t{std::numeric_limits<uint32_t>::max()});
  }

  template <class V>
  void merge(uint8_t* into, const uint8_t* from) const {
    const V one = load<V>(into);
    const V other = load<V>(from);
    store(into, rank(other) > rank(one) ? other : one);
  }
};

void merge_pairs(const MergePairsArgs& args) {
  const PairOrder order{args.unsigned_keys ? std::numeric_limits<int64_t>::min() : 0,
                        args.select_last_index ? 0 : -1, args.select_last_index ? 1 : 0};
  const int64_t bytes = args.count * kPairBytes;
  int64_t at = 0;
  for (; at + kVectorBytes <= bytes; at += kVectorBytes) {
    order.merge<Vector<int64_t>>(args.into + at, args.from + at);
  }
  for (; at < bytes; at += kPairBytes) order.merge<int64_t>(args.into + at, args.from + at);
}

}  // namespace
}  // namespace onnx_argmax
