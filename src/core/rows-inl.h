// SPDX-License-Identifier: Apache-2.0
//
// The rows kernel: contiguous rows, each of at least a vector. The largest key is found first,
// with no index in the way, then the place where it stands, by a search of the winning block.
#pragma once

#include <limits>

#include "kernels.h"
#include "order.h"
#include "simd.h"

namespace onnx_argmax {
namespace {

// Vectors of a block of a long row: the larger, the fewer horizontal maxima, the smaller, the
// less is read twice. 128 vectors are 8 KiB at the widest level, a sixth of a 48 KiB L1.
constexpr int64_t kBlockVectors = 128;

template <class Order>
inline Vector<typename Order::Lane> keys_at(const uint8_t* data, int64_t element) {
  using Lane = typename Order::Lane;
  return Order::key(load<Vector<Lane>>(data + element * static_cast<int64_t>(sizeof(Lane))));
}

// Every vector that is read asks for one farther on. The processor's own prefetchers stop at each
// page and, after a row's search, start anew (2^24 float32: 41 GB/s without, 40 with 1 KiB, 44
// with 2, 50 with 4, 57 with 8; rows of 300: 24 and 29).
constexpr int64_t kAheadBytes = 8 * 1024;

template <class Order>
inline Vector<typename Order::Lane> keys_ahead(const uint8_t* data, int64_t element) {
  prefetch_ahead(data + element * static_cast<int64_t>(sizeof(typename Order::Lane)), kAheadBytes);
  return keys_at<Order>(data, element);
}

// Lane-wise maximum over length elements, at least a vector of them; the last vector overlaps
// its neighbour instead of reading past the end.
template <class Order>
inline Vector<typename Order::Lane> lanes_max(const uint8_t* data, int64_t length) {
  using Lane = typename Order::Lane;
  constexpr int64_t kCount = kLanes<Lane>;
  constexpr int kChains = 4;  // enough independent maxima to hide the latency of one
  Vector<Lane> best = keys_ahead<Order>(data, length - kCount);
  int64_t at = 0;
  if (length >= kChains * kCount) {
    Vector<Lane> chain[kChains];
    for (int i = 0; i < kChains; ++i) chain[i] = best;
    for (; at + kChains * kCount <= length; at += kChains * kCount) {
      for (int i = 0; i < kChains; ++i) {
        chain[i] = max(chain[i], keys_ahead<Order>(data, at + i * kCount));
      }
    }
    best = max(max(chain[0], chain[1]), max(chain[2], chain[3]));
  }
  for (; at + kCount <= length; at += kCount) best = max(best, keys_ahead<Order>(data, at));
  return best;
}

inline int64_t first_bit(uint64_t bits) { return __builtin_ctzll(bits); }
inline int64_t last_bit(uint64_t bits) { return 63 - __builtin_clzll(bits); }

// First or last of at least a vector of elements where at(element), a vector of lanes from there
// on, has a lane that equals `wanted`. There is one, unless another thread writes to the data
// meanwhile; then the answer is arbitrary, but an element's all the same.
template <class Lane, class At>
inline int64_t find_equal(int64_t length, Lane wanted, bool last, At at) {
  constexpr int64_t kCount = kLanes<Lane>;
  constexpr uint64_t kLastLane = uint64_t{1} << (kCount - 1);
  const Vector<Lane> all = splat<Lane>(wanted);
  if (last) {
    for (int64_t i = length - kCount; i > 0; i -= kCount) {
      const uint64_t bits = equal_bits<Lane>(at(i), all);
      if (bits != 0) return i + last_bit(bits);
    }
    return last_bit(equal_bits<Lane>(at(0), all) | 1);
  }
  for (int64_t i = 0; i < length - kCount; i += kCount) {
    const uint64_t bits = equal_bits<Lane>(at(i), all);
    if (bits != 0) return i + first_bit(bits);
  }
  return length - kCount + first_bit(equal_bits<Lane>(at(length - kCount), all) | kLastLane);
}

// First or last element of a key that is known to be there. Where one pattern of bits alone has
// it, no key need be made of what is searched.
template <class Order>
inline int64_t find(const uint8_t* data, int64_t length, typename Order::Lane key, bool last) {
  using Lane = typename Order::Lane;
  Lane bits{};
  if (Order::has_one_pattern(key, bits)) {
    return find_equal<Lane>(length, bits, last, [=](int64_t element) {
      return load<Vector<Lane>>(data + element * static_cast<int64_t>(sizeof(Lane)));
    });
  }
  return find_equal<Lane>(length, key, last,
                          [=](int64_t element) { return keys_at<Order>(data, element); });
}

// One row. Blocks are visited from the end that wins ties, so a
// block replaces an earlier one only where it is strictly greater. The last block starts where
// its overlapping vector starts, so that what its maximum covers is also what is searched.
template <class Order>
void long_row(const uint8_t* row, const RowsArgs& args, int64_t at_row) {
  using Lane = typename Order::Lane;
  constexpr int64_t kCount = kLanes<Lane>;
  constexpr int64_t kBlock = kBlockVectors * kCount;
  const int64_t blocks = (args.length + kBlock - 1) / kBlock;
  Lane best{};
  int64_t best_start = -1;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t block = args.last ? blocks - 1 - i : i;
    const int64_t start = block * kBlock;
    const int64_t last_start = args.length - kCount;
    const int64_t from = start < last_start ? start : last_start;
    const int64_t length = (block == blocks - 1 ? args.length : start + kBlock) - from;
    const Lane key = horizontal_max<Lane>(
        lanes_max<Order>(row + from * static_cast<int64_t>(sizeof(Lane)), length));
    if (best_start < 0 || key > best) {
      best = key;
      best_start = from;
    }
    if (best == std::numeric_limits<Lane>::max()) break;  // nothing can be strictly greater
  }
  const int64_t end = best_start + kBlock < args.length ? best_start + kBlock : args.length;
  args.index[at_row] =
      best_start + find<Order>(row + best_start * static_cast<int64_t>(sizeof(Lane)),
                               end - best_start, best, args.last);
  args.ordered_keys[at_row] = ordered(best);
}

template <class Order>
void rows(const RowsArgs& args) {
  for (int64_t row = 0; row < args.count; ++row) long_row<Order>(args.rows[row], args, row);
}

}  // namespace
}  // namespace onnx_argmax
