// SPDX-License-Identifier: Apache-2.0
//
// Runs the core without Python, for machines and builds that have none: another processor under
// emulation, sanitizers. check.py writes requests to the standard input and compares the answers.
//
// A request is a line of numbers and so many bytes of data:
//   level type byte_swapped axis select_last_index threads out_item_size index_offset rank
//   shape... stride_bytes... offset data_bytes
// where level counts the supported levels, best first, and offset is that of the first element.
// The answer is a line of indices in C order. An index_offset that is not negative asks for
// partial results from there on: of the whole, and of two halves that are merged; where these
// differ in an index or a key, the answer is "differ".
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "argmax.h"
#include "dispatch.h"
#include "partial.h"

namespace {

using onnx_argmax::Level;
using onnx_argmax::Request;
using Bytes = std::vector<uint8_t>;

bool use_level(int number) {
  for (int i = 0; i < onnx_argmax::level_count(); ++i) {
    const Level& level = onnx_argmax::all_levels()[i];
    if (!level.supported() || number-- != 0) continue;
    onnx_argmax::set_level(level);
    return true;
  }
  return false;
}

int64_t item(const uint8_t* at, int size) {
  uint64_t value = 0;
  std::memcpy(&value, at, static_cast<size_t>(size));  // little-endian machines only
  return static_cast<int64_t>(value);
}

// Results side by side in C order, as with keepdims, and before each its key where it has one.
struct Results {
  int key_bytes;
  int index_bytes;
  int64_t count = 1;
  std::vector<int64_t> shape{};
  std::vector<int64_t> strides{};

  int item_bytes() const { return key_bytes + index_bytes; }
};

Results results_of(const Request& request) {
  const int key_bytes = request.out_keys ? onnx_argmax::key_bytes(request.type) : 0;
  Results results{key_bytes, request.out_item_size};
  const auto rank = static_cast<size_t>(request.rank);
  results.shape.resize(rank);
  results.strides.resize(rank);
  for (size_t i = rank; i-- > 0;) {
    const bool one = request.axis == onnx_argmax::kFlatten || request.axis == static_cast<int>(i);
    results.shape[i] = one ? 1 : request.shape[i];
    results.strides[i] = results.count * results.item_bytes();
    results.count *= results.shape[i];
  }
  return results;
}

bool run(Request request, const Results& results, Bytes& out) {
  uint8_t* const index = out.data() + results.key_bytes;
  request.out = index;
  request.out_stride_bytes = results.strides.data();
  if (onnx_argmax::argmax(request) != onnx_argmax::Status::kOk) return false;
  if (request.axis != onnx_argmax::kFlatten) return true;
  // The core adds no offset to an index of the flattened array.
  const int64_t moved = request.index_offset + item(index, results.index_bytes);
  std::memcpy(index, &moved, static_cast<size_t>(results.index_bytes));
  return true;
}

Bytes of_nothing_yet(onnx_argmax::ElementType type, const Results& results) {
  Bytes item(static_cast<size_t>(results.item_bytes()), 0xff);
  std::fill_n(item.begin(), results.key_bytes, 0);
  if (type != onnx_argmax::ElementType::kUint32) {
    item[static_cast<size_t>(results.key_bytes) - 1] = 0x80;
  }
  Bytes all;
  for (int64_t i = 0; i < results.count; ++i) all.insert(all.end(), item.begin(), item.end());
  return all;
}

// The halves of the reduced axis, flattened of the outermost; an axis of 1 leaves one of them with
// nothing yet. `out` has the whole's results.
bool halves_agree(const Request& whole, const Results& results, const Bytes& out) {
  Bytes merged = of_nothing_yet(whole.type, results);
  Bytes other(out.size());
  const bool flatten = whole.axis == onnx_argmax::kFlatten;
  const auto axis = static_cast<size_t>(flatten ? 0 : whole.axis);
  std::vector<int64_t> shape(whole.shape, whole.shape + whole.rank);
  const int64_t length = whole.rank == 0 ? 1 : shape[axis];
  int64_t step = 1;  // of the index
  for (size_t i = 1; flatten && i < shape.size(); ++i) step *= shape[i];
  const std::pair<int64_t, int64_t> halves[] = {{length / 2, length}, {0, length / 2}};
  for (const auto& [from, to] : halves) {
    if (from == to) continue;
    Request part = whole;
    if (whole.rank > 0) {
      shape[axis] = to - from;
      part.shape = shape.data();
      part.data = static_cast<const uint8_t*>(whole.data) + from * whole.stride_bytes[axis];
    }
    part.index_offset += from * step;
    if (!run(part, results, other)) return false;
    onnx_argmax::merge_partial_arrays({whole.type,
                                       whole.select_last_index,
                                       whole.rank,
                                       results.shape.data(),
                                       results.index_bytes,
                                       {merged.data(), results.strides.data()},
                                       {other.data(), results.strides.data()}});
  }
  return merged == out;
}

bool answer(std::istream& in) {
  int level = 0;
  int type = 0;
  int swapped = 0;
  int last = 0;
  int threads = 0;
  Request request{};
  if (!(in >> level >> type >> swapped >> request.axis >> last >> threads >>
        request.out_item_size >> request.index_offset >> request.rank)) {
    return false;
  }
  std::vector<int64_t> shape(static_cast<size_t>(request.rank));
  std::vector<int64_t> strides(static_cast<size_t>(request.rank));
  int64_t offset = 0;
  int64_t bytes = 0;
  for (int64_t& size : shape) in >> size;
  for (int64_t& stride : strides) in >> stride;
  in >> offset >> bytes;
  in.get();  // the end of the line
  Bytes data(static_cast<size_t>(bytes));
  in.read(reinterpret_cast<char*>(data.data()), bytes);
  if (!in || !use_level(level)) return false;

  request.type = static_cast<onnx_argmax::ElementType>(type);
  request.byte_swapped = swapped != 0;
  request.select_last_index = last != 0;
  request.data = data.data() + offset;
  request.shape = shape.data();
  request.stride_bytes = strides.data();
  request.out_keys = request.index_offset >= 0;
  if (!request.out_keys) request.index_offset = 0;
  request.executor = onnx_argmax::own_pool(threads);
  const Results results = results_of(request);
  Bytes out(static_cast<size_t>(results.count * results.item_bytes()));
  if (!run(request, results, out)) return false;
  if (request.out_keys && !halves_agree(request, results, out)) {
    std::cout << "differ" << std::endl;
    return true;
  }
  for (int64_t i = 0; i < results.count; ++i) {
    const uint8_t* const at = out.data() + i * results.item_bytes() + results.key_bytes;
    std::cout << (i == 0 ? "" : " ") << item(at, results.index_bytes);
  }
  std::cout << std::endl;
  return true;
}

}  // namespace

int main() {
  onnx_argmax::set_grain_bytes(1);  // small arrays are split too
  for (int i = 0; i < onnx_argmax::level_count(); ++i) {
    const Level& level = onnx_argmax::all_levels()[i];
    if (level.supported()) std::cout << level.name << ' ';
  }
  std::cout << std::endl;
  while (answer(std::cin)) {
  }
  return std::cin.eof() ? 0 : 1;
}
