// SPDX-License-Identifier: Apache-2.0
//
// Partial results and the one rule by which they are merged, whoever merges: the threads of a
// call, blocks of an array larger than memory, machines.
#pragma once

#include <cstdint>

#include "element_type.h"

namespace onnx_argmax {

// The largest element of a part of the reduced axis (or of the whole array), its index counted
// from the axis's (or array's) own start.
struct Partial {
  int64_t ordered_key;
  int64_t index;  // negative: of nothing yet
};

// The larger key, of equal ones the lower or the higher index. It does not depend on the order of
// merging.
inline void merge(Partial& into, const Partial& from, bool select_last_index) noexcept {
  const bool greater = from.ordered_key > into.ordered_key;
  const bool wins_tie =
      from.ordered_key == into.ordered_key && (from.index < into.index) != select_last_index;
  const bool wins = into.index < 0 || greater || wins_tie;
  if (from.index >= 0 && wins) into = from;
}

// Partial results as they leave a call: the key in as many bytes as an element has, and right
// behind it the index.
struct PartialArray {
  uint8_t* data;
  const int64_t* stride_bytes;
};

struct MergeRequest {
  ElementType type;
  bool select_last_index;
  int rank;  // at most kMaxRank
  const int64_t* shape;
  int index_bytes;  // 4 or 8
  PartialArray into;
  PartialArray from;
};

// Merges each of the one array into its like of the other.
void merge_partial_arrays(const MergeRequest& request) noexcept;

}  // namespace onnx_argmax
