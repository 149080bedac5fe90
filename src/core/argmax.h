// SPDX-License-Identifier: Apache-2.0
//
// The core's one entry. It knows neither Python nor ONNX Runtime, throws nothing, and expects a
// request that its caller has checked.
#pragma once

#include <cstdint>

#include "element_type.h"
#include "parallel.h"

namespace onnx_argmax {

inline constexpr int kMaxRank = 64;  // NumPy's, the highest of any caller
inline constexpr int kFlatten = -1;

struct Kernels;

struct Request {
  ElementType type;
  bool byte_swapped;
  bool select_last_index;
  const void* data;
  int rank;                     // at most kMaxRank; 0 counts as one element
  const int64_t* shape;         // rank; the reduced axis is not empty
  const int64_t* stride_bytes;  // rank, of any sign
  int axis;                     // in [0, rank - 1], or kFlatten
  void* out;
  int out_item_size;                // 1, 2, 4 or 8, wide enough for the largest index
  const int64_t* out_stride_bytes;  // rank, that of the reduced axis is not looked at;
                                    // not looked at with kFlatten
  bool out_keys;         // in front of each index its key too, as partial.h lays them out
  int64_t index_offset;  // added to each index; not with kFlatten
  Executor executor;
  const Kernels* kernels;  // those of a level; null: of the active one
};

enum class Status : uint8_t { kOk, kOutOfMemory };

Status argmax(const Request& request) noexcept;

// Work below which a call does not take another thread.
void set_grain_bytes(int64_t grain_bytes) noexcept;

}  // namespace onnx_argmax
