// SPDX-License-Identifier: Apache-2.0
//
// From shape, strides and axis to a walk: which kernel, over which positions, in which order.
#pragma once

#include <cstdint>

#include "argmax.h"
#include "kernels.h"

namespace onnx_argmax {

enum class Walk : uint8_t {
  kConstant,       // one candidate, or all the same item, and no key asked for: nothing is read
  kRows,           // the reduced axis is contiguous
  kPackedRows,     // the reduced axis has the smallest stride, but is not contiguous or swapped
  kColumns,        // another axis is contiguous and at least a vector long
  kFoldedColumns,  // another axis is contiguous and short, the reduced one right behind it
  kPackedColumns,  // everything else, and adjacent rows of a few elements
};

// One axis that is kept, walked in the order of memory.
struct Dimension {
  int64_t size;
  int64_t stride_bytes;  // not negative
  int64_t out_stride;    // bytes of the result; flattened: index of the whole array
};

struct Plan {
  Walk walk;
  ElementType type;
  int item_size;
  bool byte_swapped;

  const uint8_t* data;  // first element in the order of the walk
  const uint8_t* data_end;
  int64_t length;        // of the reduced axis
  int64_t stride_bytes;  // of the reduced axis, in the order of the walk
  bool mirrored;         // the walk meets the reduced axis from its end
  bool last;             // the rows kernel takes the last of equal elements
  int64_t constant;      // kConstant

  int rank;
  Dimension dimensions[kMaxRank];  // innermost first
  int64_t positions;               // product of their sizes

  bool flatten;
  bool select_last_index;
  int64_t index_scale;  // flattened: distance of two neighbours along the reduced axis

  uint8_t* out;      // result of the first position
  int64_t out_base;  // flattened: index of the first position's first element
  int out_item_size;
  bool out_keys;         // a key in front of each index
  int64_t index_offset;  // added to each index; not where flattened
};

// vector_bytes is that of the level that will run the plan.
Plan make_plan(const Request& request, int vector_bytes) noexcept;

}  // namespace onnx_argmax
