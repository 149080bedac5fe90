// SPDX-License-Identifier: Apache-2.0
//
// Runs the core without Python, for machines and builds that have none: another processor under
// emulation, sanitizers. check.py writes requests to the standard input and compares the answers.
//
// A request is a line of numbers and so many bytes of data:
//   level type byte_swapped axis select_last_index threads out_item_size rank
//   shape... stride_bytes... offset data_bytes
// where level counts the supported levels, best first, and offset is that of the first element.
// The answer is a line of indices in C order.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "argmax.h"
#include "dispatch.h"

namespace {

using onnx_argmax::Level;

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

bool answer(std::istream& in) {
  int level = 0;
  int type = 0;
  int swapped = 0;
  int axis = 0;
  int last = 0;
  int threads = 0;
  int out_size = 0;
  int rank = 0;
  if (!(in >> level >> type >> swapped >> axis >> last >> threads >> out_size >> rank)) {
    return false;
  }
  std::vector<int64_t> shape(static_cast<size_t>(rank));
  std::vector<int64_t> strides(static_cast<size_t>(rank));
  int64_t offset = 0;
  int64_t bytes = 0;
  for (int64_t& size : shape) in >> size;
  for (int64_t& stride : strides) in >> stride;
  in >> offset >> bytes;
  in.get();  // the end of the line
  std::vector<uint8_t> data(static_cast<size_t>(bytes));
  in.read(reinterpret_cast<char*>(data.data()), bytes);
  if (!in || !use_level(level)) return false;

  // The results side by side in C order, as with keepdims.
  std::vector<int64_t> out_strides(static_cast<size_t>(rank));
  int64_t count = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    out_strides[at] = count * out_size;
    if (axis != onnx_argmax::kFlatten && i != axis) count *= shape[at];
  }
  std::vector<uint8_t> out(static_cast<size_t>(count * out_size));

  onnx_argmax::Request request{};
  request.type = static_cast<onnx_argmax::ElementType>(type);
  request.byte_swapped = swapped != 0;
  request.select_last_index = last != 0;
  request.data = data.data() + offset;
  request.rank = rank;
  request.shape = shape.data();
  request.stride_bytes = strides.data();
  request.axis = axis;
  request.out = out.data();
  request.out_item_size = out_size;
  request.out_stride_bytes = out_strides.data();
  request.executor = onnx_argmax::own_pool(threads);
  if (onnx_argmax::argmax(request) != onnx_argmax::Status::kOk) return false;
  for (int64_t i = 0; i < count; ++i) {
    std::cout << (i == 0 ? "" : " ") << item(out.data() + i * out_size, out_size);
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
