// SPDX-License-Identifier: Apache-2.0
#include "partial.h"

#include <cstring>

#include "argmax.h"
#include "dispatch.h"
#include "kernels.h"

namespace onnx_argmax {
namespace {

template <class T>
T read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
void write(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

template <class Key, class Index>
PartialOf<Key, Index> load(const uint8_t* at) {
  return {read<Key>(at), read<Index>(at + sizeof(Key))};
}

__extension__ using Wide = __int128;

// Key and rank as one number, which takes fewer instructions to compare.
template <class Key, class Index>
Wide whole_rank(const PartialOf<Key, Index>& partial, bool select_last_index) {
  return static_cast<Wide>(partial.ordered_key) << 64 |
         static_cast<uint64_t>(rank_of(partial.index, select_last_index));
}

// GCC makes a branch of ?: here.
template <class T>
T choose(bool first, T one, T other) {
  return static_cast<T>(other ^ ((one ^ other) & -static_cast<T>(first)));
}

// Either may hold the larger element, so the loop has no branch, which costs up to ten times as
// much where keys often tie.
template <class Key, class Index>
void merge_run(uint8_t* __restrict into, int64_t into_stride, const uint8_t* __restrict from,
               int64_t from_stride, int64_t count, bool select_last_index) {
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* const to = into + i * into_stride;
    const auto best = load<Key, Index>(to);
    const auto other = load<Key, Index>(from + i * from_stride);
    const bool wins = whole_rank(other, select_last_index) > whole_rank(best, select_last_index);
    write(to, choose(wins, other.ordered_key, best.ordered_key));
    write(to + sizeof(Key), choose(wins, other.index, best.index));
  }
}

using MergeRun = void (*)(uint8_t* into, int64_t into_stride, const uint8_t* from,
                          int64_t from_stride, int64_t count, bool select_last_index);

template <class Key>
MergeRun of_index(int index_bytes) {
  return index_bytes == 4 ? merge_run<Key, int32_t> : merge_run<Key, int64_t>;
}

// Only uint32 has keys that are unsigned in as many bytes as it has: what is narrower fits into 4,
// and ordered() of order.h makes signed keys of uint64.
MergeRun of_type(ElementType type, int index_bytes) {
  if (type == ElementType::kUint32) return of_index<uint32_t>(index_bytes);
  return key_bytes(type) == 4 ? of_index<int32_t>(index_bytes) : of_index<int64_t>(index_bytes);
}

// The axes without those of length 1, those that continue each other in both arrays as one: the
// reduced axis, kept with length 1, would else often be the innermost, and every run one long.
struct Axes {
  bool empty = false;
  int rank = 1;  // the outermost is there for arrays that have none
  int64_t shape[kMaxRank + 1]{1};
  int64_t into_stride[kMaxRank + 1]{};
  int64_t from_stride[kMaxRank + 1]{};
};

Axes joined_axes(const MergeRequest& request) {
  Axes axes;
  for (int i = 0; i < request.rank; ++i) {
    const int64_t size = request.shape[i];
    const int64_t into = request.into.stride_bytes[i];
    const int64_t from = request.from.stride_bytes[i];
    axes.empty = axes.empty || size == 0;
    if (size == 1) continue;
    const int outer = axes.rank - 1;
    if (axes.shape[outer] == 1 ||
        (axes.into_stride[outer] == into * size && axes.from_stride[outer] == from * size)) {
      axes.shape[outer] *= size;
      axes.into_stride[outer] = into;
      axes.from_stride[outer] = from;
    } else {
      axes.shape[axes.rank] = size;
      axes.into_stride[axes.rank] = into;
      axes.from_stride[axes.rank++] = from;
    }
  }
  return axes;
}

}  // namespace

void merge_partial_arrays(const MergeRequest& request) noexcept {
  const Axes axes = joined_axes(request);
  if (axes.empty) return;
  const int outer = axes.rank - 1;  // axes outside the innermost
  const MergeRun run = of_type(request.type, request.index_bytes);
  const bool pairs = key_bytes(request.type) + request.index_bytes == kPairBytes &&
                     axes.into_stride[outer] == kPairBytes &&
                     axes.from_stride[outer] == kPairBytes;
  const Kernels& kernels = *active_level().kernels;
  uint8_t* into = request.into.data;
  const uint8_t* from = request.from.data;
  int64_t at[kMaxRank]{};
  for (int axis = 0; axis >= 0;) {
    if (pairs) {
      kernels.merge_pairs({into, from, axes.shape[outer], request.type == ElementType::kUint32,
                           request.select_last_index});
    } else {
      run(into, axes.into_stride[outer], from, axes.from_stride[outer], axes.shape[outer],
          request.select_last_index);
    }
    for (axis = outer - 1; axis >= 0; --axis) {
      into += axes.into_stride[axis];
      from += axes.from_stride[axis];
      if (++at[axis] < axes.shape[axis]) break;
      into -= at[axis] * axes.into_stride[axis];
      from -= at[axis] * axes.from_stride[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace onnx_argmax
