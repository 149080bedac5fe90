// SPDX-License-Identifier: Apache-2.0
//
// The rows kernel: contiguous rows, none of them short. Vectors are taken in groups. Each
// lane keeps the largest key that it met and the group that it met it in, which costs a comparison
// a group, not a vector; where in the winning group the key stands is found at the end, in a
// handful of vectors. No branch hangs on the data, so that the processor is at the next row before
// this one is done: where a search of the row stopped at what it sought, each row ended in a
// mispredicted branch (rows of 1000 float32 in the second-level cache: 73 GB/s so, 96 now; of
// 6906: 103 and 167).
#pragma once

#include <utility>

#include "kernels.h"
#include "order.h"
#include "simd.h"

namespace onnx_argmax {
namespace {

// Vectors of a group. Four 8-bit vectors of the widest level have as many lanes as 8 bits number,
// and two cost more (rows of 1000 uint8: 42 GB/s with four, 36 with two).
constexpr int kGroupVectors = 4;
// In a row of so many vectors groups are larger, which saves a comparison here and there (2^24
// uint16: 62 GB/s in groups of four, 75 of 16; rows of 432 vectors float32: 56 and 53).
constexpr int kLargeGroupVectors = 16;
constexpr int64_t kManyVectors = 1024;
static_assert(kGroupVectors * kVectorBytes <= short_row_bytes(1));

// Groups of a window, as many as 8-bit lanes number; 64 KiB at the widest level, or 256 where
// groups are large. Only between windows is it looked at whether anything can still be greater.
constexpr int64_t kWindowGroups = 256;

// Every line that is read asks for one farther on. The processor's own prefetchers stop at each
// page and, after a row's end, start anew (rows of 1000 float32 from memory: 37 GB/s with 4 KiB,
// 44 with 8, 44 with 16; of 10,000 uint8: 42, 48 and 41).
constexpr int64_t kAheadBytes = 8 * 1024;

template <class Lane>
inline const uint8_t* at(const uint8_t* data, int64_t element) {
  return data + element * static_cast<int64_t>(sizeof(Lane));
}

// Lane-wise maximum of the rough keys of a group of vectors.
template <class Order, int kGroup>
inline Vector<typename Order::Lane> group_max(const uint8_t* group) {
  using Lane = typename Order::Lane;
  for (int line = 0; line < kGroup * kVectorBytes; line += kLineBytes) {
    prefetch_ahead(group + line, kAheadBytes);
  }
  constexpr int kChains = 4;  // enough to hide a maximum's latency, few enough for 16 registers
  const auto rough_at = [=](int i) {
    return Order::rough(load<Vector<Lane>>(group + i * kVectorBytes));
  };
  Vector<Lane> keys[kChains];
  for (int i = 0; i < kChains; ++i) keys[i] = rough_at(i);
  for (int i = kChains; i < kGroup; ++i) keys[i % kChains] = max(keys[i % kChains], rough_at(i));
  return max(max(keys[0], keys[1]), max(keys[2], keys[3]));
}

// The largest rough key of some elements, and where the group begins that it stands in.
template <class Lane>
struct InGroup {
  Lane rough;
  int64_t start;
};

// Of a window: at least a group, at most kWindowGroups. The last group overlaps its neighbour
// instead of reaching past the end. Of equal keys the first group's counts, or the last one's.
template <class Order, int kGroup, bool kLast>
inline InGroup<typename Order::Lane> best_group(const uint8_t* window, int64_t length) {
  using Lane = typename Order::Lane;
  using Rank = Unsigned<Lane>;
  constexpr int64_t kElements = kGroup * kLanes<Lane>;
  constexpr Rank kFirstRank = kLast ? 0 : kWindowGroups - 1;  // the higher, the more preferred
  constexpr Rank kStep = kLast ? 1 : static_cast<Rank>(-1);
  const int64_t last_start = length - kElements;
  Vector<Lane> best = group_max<Order, kGroup>(window);
  Vector<Rank> rank = splat<Rank>(kFirstRank);
  Vector<Rank> best_rank = rank;
  for (int64_t start = kElements; start < length; start += kElements) {
    const Vector<Lane> keys =
        group_max<Order, kGroup>(at<Lane>(window, start < last_start ? start : last_start));
    rank += splat<Rank>(kStep);
    best_rank = (kLast ? keys >= best : keys > best) ? rank : best_rank;
    best = max(best, keys);
  }
  const Lane largest = horizontal_max<Lane>(best);
  const Rank won = horizontal_max<Rank>(best == splat<Lane>(largest) ? best_rank : Vector<Rank>{});
  const auto group = static_cast<int64_t>(kLast ? won : static_cast<Rank>(kFirstRank - won));
  return {largest, group * kElements < last_start ? group * kElements : last_start};
}

template <class T, int... kLane>
inline Vector<T> count_up(std::integer_sequence<int, kLane...>) {
  return Vector<T>{static_cast<T>(kLane)...};
}

// First or last place in a group of a pattern of bits that is known to be there. Should another
// thread write to the data meanwhile, the answer is arbitrary, but a place of the group.
template <class Lane, bool kLast>
inline int64_t find_bits(const uint8_t* group, Lane bits) {
  using Place = Unsigned<Lane>;
  constexpr int64_t kLastPlace = kGroupVectors * kLanes<Lane> - 1;
  const Vector<Place> lane = count_up<Place>(std::make_integer_sequence<int, kLanes<Lane>>{});
  // The first place is counted from the end, so that the largest is the one that is wanted.
  Vector<Place> found{};
  for (int i = 0; i < kGroupVectors; ++i) {
    const int vector = kLast ? i : kGroupVectors - 1 - i;
    const Vector<Place> place = lane + splat<Place>(static_cast<Place>(vector * kLanes<Lane>));
    const auto equal = load<Vector<Lane>>(group + vector * kVectorBytes) == splat<Lane>(bits);
    found = equal ? (kLast ? place : splat<Place>(kLastPlace) - place) : found;
  }
  const auto best = static_cast<int64_t>(horizontal_max<Place>(found));
  return kLast ? best : kLastPlace - best;
}

// First or last of at least a vector of elements with a key that is known to be there and that
// several patterns of bits have: a NaN, a zero, True. The same holds should it be gone.
template <class Order, bool kLast>
inline int64_t find_key(const uint8_t* data, int64_t length, typename Order::Lane key) {
  using Lane = typename Order::Lane;
  constexpr int64_t kCount = kLanes<Lane>;
  const auto equal_from = [=](int64_t element) {
    return equal_bits<Lane>(Order::key(load<Vector<Lane>>(at<Lane>(data, element))),
                            splat<Lane>(key));
  };
  if constexpr (kLast) {
    for (int64_t i = length - kCount; i > 0; i -= kCount) {
      const uint64_t bits = equal_from(i);
      if (bits != 0) return i + 63 - __builtin_clzll(bits);
    }
    return 63 - __builtin_clzll(equal_from(0) | 1);
  } else {
    for (int64_t i = 0; i < length - kCount; i += kCount) {
      const uint64_t bits = equal_from(i);
      if (bits != 0) return i + __builtin_ctzll(bits);
    }
    constexpr uint64_t kLastLane = uint64_t{1} << (kCount - 1);
    return length - kCount + __builtin_ctzll(equal_from(length - kCount) | kLastLane);
  }
}

// Windows are visited from the end that wins ties, so that one replaces an earlier one only where
// it is strictly greater. The last one begins early enough to be a group at least. A group of many
// vectors is then a row of its own.
template <class Order, int kGroup, bool kLast>
inline void reduce_row(const uint8_t* row, int64_t length, int64_t& index, int64_t& ordered_key) {
  using Lane = typename Order::Lane;
  constexpr int64_t kElements = kGroup * kLanes<Lane>;
  constexpr int64_t kWindow = kWindowGroups * kElements;
  const int64_t windows = (length + kWindow - 1) / kWindow;
  Lane best{};
  int64_t best_from = -1;
  int64_t best_to = 0;
  int64_t best_group_at = 0;
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t window = kLast ? windows - 1 - i : i;
    const int64_t from =
        window * kWindow < length - kElements ? window * kWindow : length - kElements;
    const int64_t to = window == windows - 1 ? length : (window + 1) * kWindow;
    const auto found = best_group<Order, kGroup, kLast>(at<Lane>(row, from), to - from);
    const Lane key = Order::from_rough(found.rough);
    if (best_from < 0 || key > best) {
      best = key;
      best_from = from;
      best_to = to;
      best_group_at = from + found.start;
    }
    if (best == Order::kLargest) break;  // nothing can be strictly greater
  }
  ordered_key = ordered(best);
  Lane bits{};
  if (!Order::has_one_pattern(best, bits)) {
    index =
        best_from + find_key<Order, kLast>(at<Lane>(row, best_from), best_to - best_from, best);
  } else if constexpr (kGroup == kGroupVectors) {
    index = best_group_at + find_bits<Lane, kLast>(at<Lane>(row, best_group_at), bits);
  } else {
    int64_t in_group = 0;
    reduce_row<Order, kGroupVectors, kLast>(at<Lane>(row, best_group_at), kElements, in_group,
                                            ordered_key);
    index = best_group_at + in_group;
  }
}

template <class Order, int kGroup, bool kLast>
void rows_from(const RowsArgs& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    reduce_row<Order, kGroup, kLast>(args.rows[i], args.length, args.index[i],
                                     args.ordered_keys[i]);
  }
}

template <class Order>
void rows(const RowsArgs& args) {
  if (args.length < kManyVectors * kLanes<typename Order::Lane>) {
    args.last ? rows_from<Order, kGroupVectors, true>(args)
              : rows_from<Order, kGroupVectors, false>(args);
  } else {
    args.last ? rows_from<Order, kLargeGroupVectors, true>(args)
              : rows_from<Order, kLargeGroupVectors, false>(args);
  }
}

}  // namespace
}  // namespace onnx_argmax
