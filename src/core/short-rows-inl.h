// SPDX-License-Identifier: Apache-2.0
//
// Short rows, many of them: interleaved images, classifier heads. As many rows as a vector has
// lanes are reduced at once, a quarter vector (16 bytes) of each at a time: transposed in
// registers, so that a vector holds one channel of all the rows, then compared as columns are.
#pragma once

#include "kernels.h"
#include "order.h"
#include "simd.h"

namespace onnx_argmax {
namespace {

// Elements of a quarter; also the vectors that the transposed quarters of all rows fill.
template <class T>
constexpr int kQuarterLanes = kQuarterBytes / static_cast<int>(sizeof(T));

// On return, channels[c] holds element c behind each row's pointer, the rows in order. Always
// inlined, for what it fills is to stay in registers.
template <class T>
[[gnu::always_inline]] inline void transpose(const uint8_t* const* rows, int64_t offset,
                                             Vector<T>* channels) {
  constexpr int kCount = kQuarterLanes<T>;
  Vector<T> from[kCount];
  for (int i = 0; i < kCount; ++i) from[i] = join_quarters<T>(rows + i, kCount, offset);
  // Interleaving v[i] with v[i + half] for every i, log2(count) times over, transposes.
  for (int step = 1; step < kCount; step *= 2) {
    for (int i = 0; i < kCount / 2; ++i) {
      channels[2 * i] = zip<false, T>(from[i], from[i + kCount / 2]);
      channels[2 * i + 1] = zip<true, T>(from[i], from[i + kCount / 2]);
    }
    for (int i = 0; i < kCount; ++i) from[i] = channels[i];
  }
}

// For each row, the largest key of some channels and its number.
template <class Order>
struct Best {
  Vector<typename Order::Lane> key;
  Vector<Unsigned<typename Order::Lane>> number;
};

template <class Order, bool kLast>
inline Best<Order> better(const Best<Order>& earlier, const Best<Order>& later) {
  const auto wins = kLast ? later.key >= earlier.key : later.key > earlier.key;
  return {wins ? later.key : earlier.key, wins ? later.number : earlier.number};
}

// The best of the channels [kBegin, kEnd) as a tournament, which waits for fewer comparisons
// than one channel after the other does.
template <class Order, bool kLast, int kBegin, int kEnd>
inline Best<Order> tournament(const Vector<typename Order::Lane>* channels) {
  using Index = Unsigned<typename Order::Lane>;
  if constexpr (kEnd - kBegin == 1) {
    return {Order::key(channels[kBegin]), splat<Index>(static_cast<Index>(kBegin))};
  } else {
    constexpr int kMiddle = (kBegin + kEnd) / 2;
    return better<Order, kLast>(tournament<Order, kLast, kBegin, kMiddle>(channels),
                                tournament<Order, kLast, kMiddle, kEnd>(channels));
  }
}

// The best of the first few channels, fewer than fill a quarter.
template <class Order, bool kLast>
inline Best<Order> best_of_few(const Vector<typename Order::Lane>* channels, int64_t count) {
  using Index = Unsigned<typename Order::Lane>;
  Best<Order> best{Order::key(channels[0]), {}};
  for (int64_t c = 1; c < count; ++c) {
    best =
        better<Order, kLast>(best, {Order::key(channels[c]), splat<Index>(static_cast<Index>(c))});
  }
  return best;
}

// Rows are read in pieces of 16 bytes from as many places as there are rows, which the
// processor's own prefetchers make little of. Rows close to each other: every line of the group,
// so many bytes ahead (19 float32 a row: 9 GB/s without, 15 with 2 KiB, 20 with 8 KiB). Rows far
// apart: the same row of the next group.
constexpr int64_t kRowsPrefetchBytes = 8 * 1024;

// Always inlined: GCC takes a function that only prefetches for one without effect and leaves its
// calls out.
[[gnu::always_inline]] inline void prefetch_rows(const uint8_t* const* rows, int count,
                                                 int64_t row_bytes) {
  // As a number: a row may have been copied elsewhere.
  const auto stride = static_cast<int64_t>(reinterpret_cast<uintptr_t>(rows[1]) -
                                           reinterpret_cast<uintptr_t>(rows[0]));
  if (stride >= 0 && stride <= 2 * row_bytes + kLineBytes) {
    const int64_t reach = (count - 1) * stride + row_bytes;
    for (int64_t at = 0; at < reach; at += kLineBytes) {
      prefetch_ahead(rows[0], kRowsPrefetchBytes + at);
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    for (int64_t at = 0; at < row_bytes; at += kLineBytes) {
      prefetch_ahead(
          rows[i],
          static_cast<int64_t>(static_cast<uint64_t>(stride) * static_cast<uint64_t>(count)) + at);
    }
  }
}

// The last quarter of a row overlaps its neighbour instead of reading past the row's end: what
// it meets again changes nothing, as the row is still walked upwards to its end.
template <class Order, bool kLast>
void short_rows_from(const ShortRowsArgs& args) {
  using Lane = typename Order::Lane;
  using Index = Unsigned<Lane>;
  constexpr int kCount = kQuarterLanes<Lane>;
  const int64_t start = args.from * static_cast<int64_t>(sizeof(Lane));
  for (int64_t row = 0; row < args.count; row += kLanes<Lane>) {
    const uint8_t* const* rows = args.rows + row;
    const uint8_t* filled[kLanes<Lane>];
    if (args.count - row < kLanes<Lane>) {
      for (int64_t i = 0; i < kLanes<Lane>; ++i) {
        filled[i] = args.rows[row + i < args.count ? row + i : args.count - 1];
      }
      rows = filled;
    }
    prefetch_rows(rows, kLanes<Lane>, args.length * static_cast<int64_t>(sizeof(Lane)));
    Vector<Lane> channels[kCount];
    transpose<Lane>(rows, start, channels);
    Best<Order> best = args.length < kCount ? best_of_few<Order, kLast>(channels, args.length)
                                            : tournament<Order, kLast, 0, kCount>(channels);
    for (int64_t at = kCount; at < args.length; at += kCount) {
      const int64_t first = at < args.length - kCount ? at : args.length - kCount;
      transpose<Lane>(rows, start + first * static_cast<int64_t>(sizeof(Lane)), channels);
      Best<Order> next = tournament<Order, kLast, 0, kCount>(channels);
      next.number += splat<Index>(static_cast<Index>(first));
      best = better<Order, kLast>(best, next);
    }
    const int64_t to = row * static_cast<int64_t>(sizeof(Lane));
    store(static_cast<uint8_t*>(args.keys) + to, best.key);
    store(static_cast<uint8_t*>(args.index) + to, best.number);
  }
}

template <class Order>
void short_rows(const ShortRowsArgs& args) {
  if (args.last) {
    short_rows_from<Order, true>(args);
  } else {
    short_rows_from<Order, false>(args);
  }
}

}  // namespace
}  // namespace onnx_argmax
