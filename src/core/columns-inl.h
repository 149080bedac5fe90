// SPDX-License-Identifier: Apache-2.0
//
// The columns kernel. A tile of columns stays in the first-level cache as keys and lane-wide
// indices while the channels stream by, several a pass, so that the tile is read and written
// once for all of them. A later channel replaces an earlier one only where it is strictly
// greater, so the first of equal maxima stays; the last is had by walking the channels backwards.
#pragma once

#include "kernels.h"
#include "order.h"
#include "simd.h"

namespace onnx_argmax {
namespace {

// How far ahead in its own channel each load asks for memory. The processor's own prefetchers
// follow few streams at once and stop at each page; measured from 0.5 to 16 KiB (19 planes of
// float32: 18 GB/s without, 26 with 2 KiB, 25 with 1 or 4, 23 with 16).
constexpr int64_t kPrefetchBytes = 2048;

template <class Order, int kPass, bool kStart>
void columns_pass(const ColumnsArgs& args, int64_t channel) {
  using Lane = typename Order::Lane;
  using Index = Unsigned<Lane>;
  constexpr int64_t kCount = kLanes<Lane>;
  const uint8_t* data[kPass];
  Vector<Index> number[kPass];
  for (int p = 0; p < kPass; ++p) {
    data[p] = args.data + (channel + p) * args.stride_bytes;
    number[p] = splat<Index>(static_cast<Index>(args.first_index + channel + p));
  }
  auto* const keys = static_cast<uint8_t*>(args.keys);
  auto* const index = static_cast<uint8_t*>(args.index);
  const int64_t last_offset = (args.columns - kCount) * static_cast<int64_t>(sizeof(Lane));
  for (int64_t slot = 0;; slot += kVectorBytes) {
    const int64_t offset = slot < last_offset ? slot : last_offset;
    Vector<Lane> best;
    Vector<Index> best_number;
    if constexpr (kStart) {
      prefetch_ahead(data[0] + offset, kPrefetchBytes);
      best = Order::key(load<Vector<Lane>>(data[0] + offset));
      best_number = number[0];
    } else {
      best = load<Vector<Lane>>(keys + slot);
      best_number = load<Vector<Index>>(index + slot);
    }
    for (int p = kStart ? 1 : 0; p < kPass; ++p) {
      prefetch_ahead(data[p] + offset, kPrefetchBytes);
      const Vector<Lane> key = Order::key(load<Vector<Lane>>(data[p] + offset));
      const auto greater = key > best;
      best = greater ? key : best;
      best_number = greater ? number[p] : best_number;
    }
    store(keys + slot, best);
    store(index + slot, best_number);
    if (slot >= last_offset) break;
  }
}

template <class Order, int kPass>
int64_t columns_passes(const ColumnsArgs& args, int64_t channel) {
  if (channel == 0 && !args.resume && kPass <= args.channels) {
    columns_pass<Order, kPass, true>(args, 0);
    channel = kPass;
  }
  for (; channel + kPass <= args.channels; channel += kPass) {
    columns_pass<Order, kPass, false>(args, channel);
  }
  return channel;
}

template <class Order>
void columns(const ColumnsArgs& args) {
  int64_t channel = columns_passes<Order, kPassChannels>(args, 0);
  channel = columns_passes<Order, 4>(args, channel);
  channel = columns_passes<Order, 2>(args, channel);
  columns_passes<Order, 1>(args, channel);
}

// None of the memory overlaps: keys of 8 bits could else be any of the others', for the compiler.
template <class Order>
void merge_window(const void* keys, const void* index, int64_t count, int64_t first_channel,
                  bool begin, void* best_keys, int64_t* best_index) {
  using Lane = typename Order::Lane;
  const auto* const __restrict from_keys = static_cast<const Lane*>(keys);
  const auto* const __restrict from_index = static_cast<const Unsigned<Lane>*>(index);
  auto* const __restrict to_keys = static_cast<Lane*>(best_keys);
  auto* const __restrict to_index = best_index;
  for (int64_t i = 0; i < count; ++i) {
    const bool greater = begin | (from_keys[i] > to_keys[i]);
    const int64_t channel = first_channel + static_cast<int64_t>(from_index[i]);
    to_keys[i] = greater ? from_keys[i] : to_keys[i];
    to_index[i] = greater ? channel : to_index[i];
  }
}

template <class Order>
void order_keys(const void* keys, int64_t count, int64_t* ordered_keys) {
  const auto* const __restrict from = static_cast<const typename Order::Lane*>(keys);
  int64_t* const __restrict to = ordered_keys;
  for (int64_t i = 0; i < count; ++i) to[i] = ordered(from[i]);
}

}  // namespace
}  // namespace onnx_argmax
