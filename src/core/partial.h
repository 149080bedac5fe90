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
template <class Key, class Index>
struct PartialOf {
  Key ordered_key;
  Index index;  // negative: of nothing yet
};
using Partial = PartialOf<int64_t, int64_t>;

// Whether `from` takes the place of `into`: the larger key does, of equal ones the lower or the
// higher index. The order of merging has no say. kForeseen: the processor will foresee most
// answers, so that branches pay; else there is none.
template <bool kForeseen, class Key, class Index>
inline bool replaces(const PartialOf<Key, Index>& from, const PartialOf<Key, Index>& into,
                     bool select_last_index) noexcept {
  const bool greater = from.ordered_key > into.ordered_key;
  if constexpr (kForeseen) {
    const bool wins_tie =
        from.ordered_key == into.ordered_key && (from.index < into.index) != select_last_index;
    const bool wins = into.index < 0 || greater || wins_tie;
    return from.index >= 0 && wins;
  } else {
    const bool wins_tie =
        (from.ordered_key == into.ordered_key) & ((from.index < into.index) != select_last_index);
    const bool wins = (into.index < 0) | greater | wins_tie;
    return (from.index >= 0) & wins;
  }
}

// Of many that are merged into the same one, few replace it.
inline void merge(Partial& into, const Partial& from, bool select_last_index) noexcept {
  if (replaces<true>(from, into, select_last_index)) into = from;
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
