// SPDX-License-Identifier: Apache-2.0
//
// The rows kernel: contiguous rows. The largest key is found first, with no index in the way,
// then the place where it stands: in short rows by one mask of the equal lanes, in long rows by
// a search of the winning block alone.
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

// Lane-wise maximum over length elements, at least a vector of them; the last vector overlaps
// its neighbour instead of reading past the end.
template <class Order>
inline Vector<typename Order::Lane> lanes_max(const uint8_t* data, int64_t length) {
  using Lane = typename Order::Lane;
  constexpr int64_t kCount = kLanes<Lane>;
  constexpr int kChains = 4;  // enough independent maxima to hide the latency of one
  Vector<Lane> best = keys_at<Order>(data, length - kCount);
  int64_t at = 0;
  if (length >= kChains * kCount) {
    Vector<Lane> chain[kChains];
    for (int i = 0; i < kChains; ++i) chain[i] = best;
    for (; at + kChains * kCount <= length; at += kChains * kCount) {
      for (int i = 0; i < kChains; ++i) {
        chain[i] = max(chain[i], keys_at<Order>(data, at + i * kCount));
      }
    }
    best = max(max(chain[0], chain[1]), max(chain[2], chain[3]));
  }
  for (; at + kCount <= length; at += kCount) best = max(best, keys_at<Order>(data, at));
  return best;
}

inline int64_t first_bit(uint64_t bits) { return __builtin_ctzll(bits); }
inline int64_t last_bit(uint64_t bits) { return 63 - __builtin_clzll(bits); }

// First or last element that equals a key known to be there, in at least a vector of elements.
template <class Order>
inline int64_t find(const uint8_t* data, int64_t length, typename Order::Lane key, bool last) {
  using Lane = typename Order::Lane;
  constexpr int64_t kCount = kLanes<Lane>;
  const Vector<Lane> wanted = splat<Lane>(key);
  if (last) {
    for (int64_t at = length - kCount; at > 0; at -= kCount) {
      const uint64_t bits = equal_bits<Lane>(keys_at<Order>(data, at), wanted);
      if (bits != 0) return at + last_bit(bits);
    }
    return last_bit(equal_bits<Lane>(keys_at<Order>(data, 0), wanted));
  }
  for (int64_t at = 0; at < length - kCount; at += kCount) {
    const uint64_t bits = equal_bits<Lane>(keys_at<Order>(data, at), wanted);
    if (bits != 0) return at + first_bit(bits);
  }
  return length - kCount +
         first_bit(equal_bits<Lane>(keys_at<Order>(data, length - kCount), wanted));
}

// One row of more than kShortRow elements. Blocks are visited from the end that wins ties, so a
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
  if (args.ordered_keys != nullptr) args.ordered_keys[at_row] = ordered(best);
}

// Up to kShortRow elements in every row. The maxima of as many rows as a quarter vector has
// lanes are had together: each row is reduced to a quarter by lane-wise maxima, then pairs of
// rows are zipped, (r, r + half), (r, r + half / 2)..., which leaves the rows in their order.
template <class Order, bool kWholeVectors>
void short_rows(const RowsArgs& args) {
  using Lane = typename Order::Lane;
  constexpr int64_t kCount = kLanes<Lane>;
  constexpr int kGroup = kQuarterBytes / static_cast<int>(sizeof(Lane));
  const int64_t last_start = args.length - kCount;
  const auto valid =
      lane_numbers<Unsigned<Lane>>() <
      splat<Unsigned<Lane>>(static_cast<Unsigned<Lane>>(kWholeVectors ? 0 : args.length));
  const uint64_t row_mask = ~uint64_t{0} >> (64 - args.length);
  for (int64_t row = 0; row < args.count; row += kGroup) {
    const uint8_t* data[kGroup];
    Quarter<Lane> part[kGroup];
    for (int r = 0; r < kGroup; ++r) {
      data[r] = args.rows[row + r < args.count ? row + r : args.count - 1];
      if constexpr (kWholeVectors) {
        Vector<Lane> best = keys_at<Order>(data[r], last_start);
        for (int64_t at = 0; at < last_start; at += kCount) {
          best = max(best, keys_at<Order>(data[r], at));
        }
        part[r] = fold<Lane>(best);
      } else {
        part[r] = fold<Lane>(valid ? keys_at<Order>(data[r], 0)
                                   : splat<Lane>(std::numeric_limits<Lane>::min()));
      }
    }
    for (int half = kGroup / 2; half > 0; half /= 2) {
      for (int r = 0; r < half; ++r) {
        part[r] = max(zip<false, Lane>(part[r], part[r + half]),
                      zip<true, Lane>(part[r], part[r + half]));
      }
    }
    for (int r = 0; r < kGroup && row + r < args.count; ++r) {
      const Lane key = part[0][r];
      const Vector<Lane> wanted = splat<Lane>(key);
      uint64_t bits = 0;
      if constexpr (kWholeVectors) {
        bits = equal_bits<Lane>(keys_at<Order>(data[r], last_start), wanted) << last_start;
        for (int64_t at = 0; at < last_start; at += kCount) {
          bits |= equal_bits<Lane>(keys_at<Order>(data[r], at), wanted) << at;
        }
      } else {
        bits = equal_bits<Lane>(keys_at<Order>(data[r], 0), wanted) & row_mask;
      }
      args.index[row + r] = args.last ? last_bit(bits) : first_bit(bits);
      if (args.ordered_keys != nullptr) args.ordered_keys[row + r] = ordered(key);
    }
  }
}

template <class Order>
void rows(const RowsArgs& args) {
  if (args.length > kShortRow) {
    for (int64_t row = 0; row < args.count; ++row) long_row<Order>(args.rows[row], args, row);
  } else if (args.length >= kLanes<typename Order::Lane>) {
    short_rows<Order, true>(args);
  } else {
    short_rows<Order, false>(args);
  }
}

}  // namespace
}  // namespace onnx_argmax
