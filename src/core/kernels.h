// SPDX-License-Identifier: Apache-2.0
//
// What one level offers to the walk: a table of plain functions for each element type and each
// item size. kernels.cc is compiled once for each level and fills in one table.
#pragma once

#include <cstdint>

#include "element_type.h"

namespace onnx_argmax {

// Memory a kernel may touch beyond what it is told to read: whole vectors of the widest level.
inline constexpr int64_t kMaxVectorBytes = 64;

// Rows of up to so many bytes are reduced many at once, a longer one by itself, which then costs
// less: in memory, many at once against by itself, float32 rows of 128 make 36 and 31 GB/s, of 150
// 22 and 33; float16 of 200 26 and 21, of 300 17 and 29; float64 of 50 38 and 27, of 80 35 and 37;
// uint8 of 300 20 and 16, of 400 17 and 22 (there the lane-wide indices do not number all).
constexpr int64_t short_row_bytes(int item_size) { return item_size == 1 ? 384 : 512; }

// Bytes of a short row are read in whole quarters.
inline constexpr int64_t kShortRowReach = 16;

// Bytes that processors move between memory and their caches at once.
inline constexpr int64_t kLineBytes = 64;

// Channels that the columns kernel takes in one pass over a tile.
inline constexpr int64_t kPassChannels = 8;

// A tile of adjacent columns, for each the largest key over the channels and its channel.
// Columns are contiguous in a channel; there are at least as many as a vector has lanes.
struct ColumnsArgs {
  const uint8_t* data;   // channel 0, column 0
  int64_t stride_bytes;  // from one channel to the next, of any sign
  int64_t channels;
  int64_t columns;
  int64_t first_index;  // lane index of channel 0
  bool resume;          // keys and index hold the result of earlier channels
  void* keys;           // a slot of one vector for each whole vector of columns, and one for the
  void* index;          // tail that overlaps its neighbour: see tail_to_place() in walk.cc
};

// Short rows, each contiguous and with kShortRowReach bytes readable, for each the largest key and
// its lane-wide index, from `from` on.
struct ShortRowsArgs {
  const uint8_t* const* rows;
  int64_t from;  // first element of each row to be looked at
  int64_t count;
  int64_t length;
  bool last;    // of equal elements take the last one
  void* keys;   // count, rounded up to a whole vector
  void* index;  // likewise
};

// Rows, each contiguous and no short one, for each the position of its largest
// element.
struct RowsArgs {
  const uint8_t* const* rows;
  int64_t count;
  int64_t length;
  bool last;              // of equal elements take the last one
  int64_t* index;         // count
  int64_t* ordered_keys;  // count
};

struct TypeKernels {
  void (*columns)(const ColumnsArgs& args);
  void (*rows)(const RowsArgs& args);
  void (*short_rows)(const ShortRowsArgs& args);
  // Merges the result of one window of channels (lane indices from 0) into the wide one, which
  // the first window that is merged begins.
  void (*merge_window)(const void* keys, const void* index, int64_t count, int64_t first_channel,
                       bool begin, void* best_keys, int64_t* best_index);
  // Keys as 64-bit integers in the same order.
  void (*order_keys)(const void* keys, int64_t count, int64_t* ordered_keys);
};

// Gathers count items, at a stride or at offsets, to adjacent ones; reverses the bytes of each
// where byte_swapped.
struct PackArgs {
  const uint8_t* data;
  int64_t count;
  int64_t stride_bytes;    // used where offsets is null
  const int64_t* offsets;  // bytes
  bool byte_swapped;
  uint8_t* to;
};

// Writes result[i] = bias + index[i], or bias - index[i], at a stride or at offsets.
struct StoreArgs {
  const void* index;
  int64_t count;
  int64_t bias = 0;
  bool mirrored = false;
  uint8_t* out = nullptr;
  bool past_caches = false;          // the result is too large to be of use in a cache
  int64_t stride_bytes = 0;          // used where offsets is null
  const int64_t* offsets = nullptr;  // bytes
};

// Partial results whose key and index have 4 bytes each.
inline constexpr int64_t kPairBytes = 8;

struct MergePairsArgs {
  uint8_t* into;
  const uint8_t* from;  // both adjacent
  int64_t count;
  bool unsigned_keys;
  bool select_last_index;
};

// Item sizes 1, 2, 4 and 8 in order; -1 for any other.
constexpr int size_slot(int bytes) {
  return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
}

struct Kernels {
  int vector_bytes;
  TypeKernels types[kElementTypeLimit];
  void (*pack[4])(const PackArgs& args);       // by item size
  void (*store[4][4])(const StoreArgs& args);  // by size of index and of result
  void (*finish_streams)();                    // after stores past the caches
  // Adjacent pairs, by size of index; args.out is the first key's place.
  void (*store_pairs[4])(const StoreArgs& args, const int64_t* ordered_keys);
  void (*merge_pairs)(const MergePairsArgs& args);
  // For limit.h alone.
  uint64_t (*read)(const uint8_t* data, int64_t bytes);
  void (*write)(uint8_t* to, int64_t bytes, uint64_t value, bool past_caches);
};

}  // namespace onnx_argmax
