// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace onnx_argmax {
namespace {

// Folding pays from so many vectors of elements on; below, the merge of the folds costs more.
constexpr int64_t kFoldVectors = 8;

// Adjacent rows of so few elements and bytes are taken apart into columns: steps as short as these
// are shuffles of whole vectors, while the short rows kernel reads 16 bytes of each row (rows of 2
// uint8: 1.5 GB/s by rows, 6.4 by columns; of 4 float32: 17 and 21; of 3 float64: 19 and 23; of 4
// float64: 24 and 20).
constexpr int64_t kTinyRow = 4;
constexpr int64_t kTinyRowBytes = 24;

// The kept axes (with kFlatten: all but the one that is walked as the reduced one), in the
// order of the caller's shape.
void take_dimensions(const Request& request, int reduced, Plan& plan) {
  int64_t logical = 1;
  for (int i = request.rank - 1; i >= 0; --i) {
    const int64_t size = request.shape[i];
    if (plan.flatten && request.stride_bytes[i] == 0) {
      // A broadcast axis repeats the same items, whose first (last) places are in its first
      // (last) layer, whatever the other axes say; so that layer stands for all.
      if (plan.select_last_index) plan.out_base += (size - 1) * logical;
    } else if (i != reduced) {
      plan.positions *= size;
      if (size != 1) {
        plan.dimensions[plan.rank++] = {size, request.stride_bytes[i],
                                        plan.flatten ? logical : request.out_stride_bytes[i]};
      }
    } else {
      plan.index_scale = logical;
    }
    logical *= size;
  }
}

// Walking an axis from its other end makes its stride positive.
void flip_negative(Plan& plan) {
  for (int i = 0; i < plan.rank; ++i) {
    Dimension& d = plan.dimensions[i];
    if (d.stride_bytes >= 0) continue;
    plan.data += (d.size - 1) * d.stride_bytes;
    if (plan.flatten) {
      plan.out_base += (d.size - 1) * d.out_stride;
    } else {
      plan.out += (d.size - 1) * d.out_stride;
    }
    d.stride_bytes = -d.stride_bytes;
    d.out_stride = -d.out_stride;
  }
}

// Innermost the smallest stride, so that memory is walked in its own order; a broadcast axis
// (stride 0) outermost, so that what it repeats is read in long runs. Axes that continue each
// other in data and result become one.
void sort_and_join(Plan& plan) {
  const auto rank_of = [](const Dimension& d) {
    return d.stride_bytes == 0 ? INT64_MAX : d.stride_bytes;
  };
  std::sort(plan.dimensions, plan.dimensions + plan.rank,
            [&](const Dimension& a, const Dimension& b) { return rank_of(a) < rank_of(b); });
  int joined = 0;
  for (int i = 1; i < plan.rank; ++i) {
    Dimension& inner = plan.dimensions[joined];
    const Dimension& outer = plan.dimensions[i];
    if (outer.stride_bytes == inner.stride_bytes * inner.size &&
        outer.out_stride == inner.out_stride * inner.size) {
      inner.size *= outer.size;
    } else {
      plan.dimensions[++joined] = outer;
    }
  }
  if (plan.rank > 0) plan.rank = joined + 1;
}

// The axis that kFlatten walks as the reduced one: the smallest stride, so that the rows kernel
// takes it where there is a contiguous one. Any axis would be right, since along each of them
// the index of the whole array grows.
int densest_axis(const Request& request) {
  int densest = -1;
  for (int i = 0; i < request.rank; ++i) {
    if (request.shape[i] == 1 || request.stride_bytes[i] == 0) continue;
    if (densest < 0 ||
        std::abs(request.stride_bytes[i]) < std::abs(request.stride_bytes[densest])) {
      densest = i;
    }
  }
  return densest;
}

// With kFlatten, axes that continue each other are one before a reduced axis is chosen, or a
// contiguous array would be a bundle of short rows.
struct Joined {
  int rank = 0;
  int64_t shape[kMaxRank];
  int64_t stride_bytes[kMaxRank];
};

Joined join_in_order(const Request& request) {
  Joined joined;
  for (int i = 0; i < request.rank; ++i) {
    const int64_t size = request.shape[i];
    const int64_t stride = request.stride_bytes[i];
    if (size == 1) continue;
    const int at = joined.rank - 1;
    if (at >= 0 && joined.stride_bytes[at] == stride * size) {
      joined.shape[at] *= size;
      joined.stride_bytes[at] = stride;
    } else {
      joined.shape[joined.rank] = size;
      joined.stride_bytes[joined.rank++] = stride;
    }
  }
  return joined;
}

Walk choose_walk(const Plan& plan, int vector_bytes) {
  const int64_t item = plan.item_size;
  const int64_t lanes = vector_bytes / item;
  const int64_t stride = std::abs(plan.stride_bytes);
  const Dimension none{1, 0, 0};
  const Dimension& inner = plan.rank > 0 ? plan.dimensions[0] : none;
  if (stride == item) {
    const int64_t row_bytes = plan.length * item;
    const bool tiny =
        plan.length <= kTinyRow && row_bytes <= kTinyRowBytes && inner.stride_bytes == row_bytes;
    if (tiny) return Walk::kPackedColumns;
    return plan.byte_swapped ? Walk::kPackedRows : Walk::kRows;
  }
  if (inner.stride_bytes == 0 || inner.stride_bytes > stride) return Walk::kPackedRows;
  if (inner.stride_bytes != item) return Walk::kPackedColumns;
  if (inner.size >= lanes) return plan.byte_swapped ? Walk::kPackedColumns : Walk::kColumns;
  const bool behind = stride == inner.size * item;
  const bool worth = plan.length * inner.size >= kFoldVectors * lanes;
  return behind && worth && !plan.byte_swapped ? Walk::kFoldedColumns : Walk::kPackedColumns;
}

// The rows kernel finds either end's maximum, so its axis is always walked upwards in memory.
// The columns kernel keeps the first it meets, so the last is met first.
void orient(Plan& plan) {
  const bool rows = plan.walk == Walk::kRows || plan.walk == Walk::kPackedRows;
  const bool backwards = rows ? plan.stride_bytes < 0 : plan.select_last_index;
  if (backwards) {
    plan.data += (plan.length - 1) * plan.stride_bytes;
    plan.stride_bytes = -plan.stride_bytes;
    plan.mirrored = true;
  }
  plan.last = rows && plan.select_last_index != plan.mirrored;
}

const uint8_t* end_of_data(const Plan& plan) {
  const uint8_t* end = plan.data + plan.item_size;
  if (plan.stride_bytes > 0) end += (plan.length - 1) * plan.stride_bytes;
  for (int i = 0; i < plan.rank; ++i) {
    end += (plan.dimensions[i].size - 1) * plan.dimensions[i].stride_bytes;
  }
  return end;
}

// Of a candidate that is known only the key is wanted: an axis of length 1, with nothing right
// behind its element.
Walk look_at_one(Plan& plan, int vector_bytes) {
  (plan.flatten ? plan.out_base : plan.index_offset) += plan.constant;
  plan.length = 1;
  plan.stride_bytes = INT64_MAX;
  return choose_walk(plan, vector_bytes);
}

}  // namespace

Plan make_plan(const Request& original, int vector_bytes) noexcept {
  Request request = original;
  Joined joined;
  Plan plan;
  plan.flatten = request.axis == kFlatten;
  int reduced = request.axis;
  if (plan.flatten) {
    joined = join_in_order(request);
    request.rank = joined.rank;
    request.shape = joined.shape;
    request.stride_bytes = joined.stride_bytes;
    reduced = densest_axis(request);
  }
  plan.type = request.type;
  plan.item_size = item_size(request.type);
  plan.byte_swapped = request.byte_swapped && plan.item_size > 1;
  plan.data = static_cast<const uint8_t*>(request.data);
  plan.select_last_index = request.select_last_index;
  plan.mirrored = false;
  plan.last = false;
  plan.rank = 0;
  plan.positions = 1;
  plan.index_scale = 1;
  plan.out = static_cast<uint8_t*>(request.out);
  plan.out_base = 0;
  plan.out_item_size = request.out_item_size;
  plan.out_keys = request.out_keys;
  plan.index_offset = plan.flatten ? 0 : request.index_offset;
  plan.constant = 0;
  const bool has_axis = reduced >= 0 && request.rank > 0;
  plan.length = has_axis ? request.shape[reduced] : 1;
  plan.stride_bytes = has_axis ? request.stride_bytes[reduced] : 0;
  take_dimensions(request, reduced, plan);
  flip_negative(plan);
  sort_and_join(plan);
  if (plan.length == 1 || plan.stride_bytes == 0) {  // flattened: every element is the same item
    plan.constant = plan.flatten             ? std::exchange(plan.out_base, 0)
                    : plan.select_last_index ? plan.length - 1
                                             : 0;
    plan.walk = plan.out_keys ? look_at_one(plan, vector_bytes) : Walk::kConstant;
  } else {
    plan.walk = choose_walk(plan, vector_bytes);
    orient(plan);
  }
  plan.data_end = end_of_data(plan);
  return plan;
}

}  // namespace onnx_argmax
