// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace onnx_argmax {

// Numbers of onnx.TensorProto.DataType; the Python table (_element_types.py) uses the same.
enum class ElementType : uint8_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
};

inline constexpr int kElementTypeLimit = 17;

// Bytes of one element; 0 for a number that is no element type of ours.
constexpr int item_size(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
    case ElementType::kInt8:
    case ElementType::kBool:
      return 1;
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kFloat:
    case ElementType::kInt32:
    case ElementType::kUint32:
      return 4;
    case ElementType::kDouble:
    case ElementType::kInt64:
    case ElementType::kUint64:
      return 8;
  }
  return 0;
}

}  // namespace onnx_argmax
