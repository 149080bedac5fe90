// SPDX-License-Identifier: Apache-2.0
//
// Arrays of partial results: items of a key, and right behind it the index.
#pragma once

#include "memory.h"
#include "partial.h"

namespace onnx_argmax {

inline ElementType checked_type(int element_type) {
  const auto type = static_cast<ElementType>(element_type);
  if (element_type < 0 || element_type >= kElementTypeLimit || item_size(type) == 0) {
    throw nb::value_error("element_type: not one of ArgMax");
  }
  return type;
}

// Bytes of an index in such an array.
inline int index_bytes(const Memory& partials, ElementType type) {
  const int64_t bytes = partials.item_size - key_bytes(type);
  if (bytes != 4 && bytes != 8) throw nb::value_error("partials: their items do not fit the type");
  return static_cast<int>(bytes);
}

// The indices alone, in the places where they lie.
inline Memory indices_of(const Memory& partials, ElementType type) {
  Memory indices = partials;
  indices.data = static_cast<const uint8_t*>(partials.data) + key_bytes(type);
  indices.item_size = index_bytes(partials, type);
  return indices;
}

inline MergeRequest merge_request(const Memory& into, const Memory& from, int element_type,
                                  bool select_last_index) {
  const ElementType type = checked_type(element_type);
  bool fits = into.rank == from.rank && into.item_size == from.item_size;
  for (int axis = 0; fits && axis < into.rank; ++axis) {
    fits = into.shape[axis] == from.shape[axis];
  }
  if (!fits) throw nb::value_error("partials: their shapes or items differ");
  if (overlaps_itself(into)) throw nb::value_error("partials: some of them share memory");
  const auto [into_low, into_high] = extent(into);
  const auto [from_low, from_high] = extent(from);
  if (into_low < from_high && from_low < into_high) {
    throw nb::value_error("partials: the two arrays share memory");
  }
  return {type,
          select_last_index,
          into.rank,
          into.shape,
          index_bytes(into, type),
          {static_cast<uint8_t*>(const_cast<void*>(into.data)), into.stride_bytes},
          {static_cast<uint8_t*>(const_cast<void*>(from.data)), from.stride_bytes}};
}

}  // namespace onnx_argmax
