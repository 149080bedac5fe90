// SPDX-License-Identifier: Apache-2.0
//
// Partial results and the one rule by which they are merged, whoever merges: the threads of a
// call, blocks of an array larger than memory, machines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "element_type.h"

namespace onnx_argmax {

// The largest element of a part of the reduced axis (or of the whole array), its index counted
// from the axis's (or array's) own start.
template <class Key, class Index>
struct PartialOf {
  Key ordered_key;
  Index index;
};
using Partial = PartialOf<int64_t, int64_t>;

// What anything replaces: no key is lower, and -1 is beyond every index, from either end.
inline constexpr Partial kNothingYet{std::numeric_limits<int64_t>::min(), -1};

// Of equal keys the larger rank of the index wins: the lower index has it, or the higher where the
// last of equal elements is taken. That of -1 is 0.
template <class Index>
inline std::make_unsigned_t<Index> rank_of(Index index, bool select_last_index) noexcept {
  const auto number = static_cast<std::make_unsigned_t<Index>>(index);
  return select_last_index ? number + 1 : ~number;
}

// The larger key stays, of equal ones the larger rank; the order of merging has no say. Of many
// that are merged into the same one few replace it, so that branches pay.
inline void merge(Partial& into, const Partial& from, bool select_last_index) noexcept {
  const auto rank = [&](const Partial& of) { return rank_of(of.index, select_last_index); };
  if (from.ordered_key > into.ordered_key ||
      (from.ordered_key == into.ordered_key && rank(from) > rank(into))) {
    into = from;
  }
}

// Bytes of a key in partial results that leave a call: as many as an element has, and 4 at least,
// since pairs of 4 and 4 bytes are merged as one number.
inline constexpr int key_bytes(ElementType type) { return std::max(item_size(type), 4); }

// Partial results as they leave a call: the key, and right behind it the index.
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
