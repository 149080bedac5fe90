// SPDX-License-Identifier: Apache-2.0
#include "partial.h"

#include <cstring>

#include "argmax.h"

namespace onnx_argmax {
namespace {

template <class T>
T read(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
void write(uint8_t* at, int64_t value) {
  const auto narrow = static_cast<T>(value);
  std::memcpy(at, &narrow, sizeof(T));
}

template <class Key, class Index>
Partial load(const uint8_t* at) {
  return {static_cast<int64_t>(read<Key>(at)),
          static_cast<int64_t>(read<Index>(at + sizeof(Key)))};
}

// A run of the innermost axis.
template <class Key, class Index>
void merge_run(uint8_t* into, int64_t into_stride, const uint8_t* from, int64_t from_stride,
               int64_t count, bool select_last_index) {
  for (int64_t i = 0; i < count; ++i, into += into_stride, from += from_stride) {
    Partial best = load<Key, Index>(into);
    merge(best, load<Key, Index>(from), select_last_index);
    write<Key>(into, best.ordered_key);
    write<Index>(into + sizeof(Key), best.index);
  }
}

using MergeRun = void (*)(uint8_t* into, int64_t into_stride, const uint8_t* from,
                          int64_t from_stride, int64_t count, bool select_last_index);

template <class Key>
MergeRun of_index(int index_bytes) {
  return index_bytes == 4 ? merge_run<Key, int32_t> : merge_run<Key, int64_t>;
}

// ordered() of order.h makes a signed integer of 64 bits of a key; as many bytes as the element
// has hold it, with the element's own sign.
MergeRun of_type(ElementType type, int index_bytes) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
      return of_index<uint8_t>(index_bytes);
    case ElementType::kUint16:
      return of_index<uint16_t>(index_bytes);
    case ElementType::kUint32:
      return of_index<uint32_t>(index_bytes);
    default:
      break;
  }
  switch (item_size(type)) {
    case 1:
      return of_index<int8_t>(index_bytes);
    case 2:
      return of_index<int16_t>(index_bytes);
    case 4:
      return of_index<int32_t>(index_bytes);
    default:
      return of_index<int64_t>(index_bytes);
  }
}

}  // namespace

void merge_partial_arrays(const MergeRequest& request) noexcept {
  const int outer = request.rank - 1;  // axes outside the innermost
  const int64_t count = outer < 0 ? 1 : request.shape[outer];
  const int64_t into_stride = outer < 0 ? 0 : request.into.stride_bytes[outer];
  const int64_t from_stride = outer < 0 ? 0 : request.from.stride_bytes[outer];
  const MergeRun run = of_type(request.type, request.index_bytes);
  uint8_t* into = request.into.data;
  const uint8_t* from = request.from.data;
  int64_t at[kMaxRank]{};
  for (int axis = 0; axis >= 0;) {
    run(into, into_stride, from, from_stride, count, request.select_last_index);
    for (axis = outer - 1; axis >= 0; --axis) {
      into += request.into.stride_bytes[axis];
      from += request.from.stride_bytes[axis];
      if (++at[axis] < request.shape[axis]) break;
      into -= at[axis] * request.into.stride_bytes[axis];
      from -= at[axis] * request.from.stride_bytes[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace onnx_argmax
