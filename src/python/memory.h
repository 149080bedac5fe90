// SPDX-License-Identifier: Apache-2.0
//
// Memory of Python objects: by the buffer protocol, or by DLPack.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "argmax.h"

namespace nb = nanobind;

namespace onnx_argmax {

// Memory with shape and strides, whatever protocol it came by.
struct Memory {
  const void* data;
  int rank;
  const int64_t* shape;
  const int64_t* stride_bytes;
  int64_t item_size;
};

// First and last byte (exclusive) that strides reach.
inline std::pair<uintptr_t, uintptr_t> extent(const Memory& memory) {
  auto low = reinterpret_cast<uintptr_t>(memory.data);
  auto high = low + static_cast<uintptr_t>(memory.item_size);
  for (int i = 0; i < memory.rank; ++i) {
    if (memory.shape[i] == 0) return {low, low};
    const int64_t reach = (memory.shape[i] - 1) * memory.stride_bytes[i];
    (reach < 0 ? low : high) += static_cast<uintptr_t>(reach);
  }
  return {low, high};
}

// Whether two elements may lie in the same place: strides from the smallest on must each reach
// past all that the smaller ones cover.
inline bool overlaps_itself(const Memory& memory) {
  for (int i = 0; i < memory.rank; ++i) {
    if (memory.shape[i] == 0) return false;
  }
  int64_t covered = memory.item_size;
  int64_t done = -1;  // strides up to here are looked at
  for (;;) {
    int64_t next = INT64_MAX;
    int64_t length = 0;
    for (int i = 0; i < memory.rank; ++i) {
      const int64_t stride =
          memory.stride_bytes[i] < 0 ? -memory.stride_bytes[i] : memory.stride_bytes[i];
      if (memory.shape[i] == 1 || stride <= done) continue;
      if (stride == next) return true;
      if (stride < next) {
        next = stride;
        length = memory.shape[i];
      }
    }
    if (length == 0) return false;
    if (next < covered) return true;
    covered += (length - 1) * next;
    done = next;
  }
}

// A view through the buffer protocol. NumPy exports read-only and byte-swapped arrays, and
// strides of any sign.
class Buffer {
 public:
  Buffer(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
    if (view_.ndim > kMaxRank) {
      PyBuffer_Release(&view_);
      throw nb::value_error("data: rank above 64");
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }

  Memory memory() const {
    static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
    return {view_.buf, view_.ndim, reinterpret_cast<const int64_t*>(view_.shape),
            reinterpret_cast<const int64_t*>(view_.strides), view_.itemsize};
  }

 private:
  Py_buffer view_{};
};

// A tensor taken through DLPack. Its strides count elements there, bytes here.
class Tensor {
 public:
  explicit Tensor(nb::object capsule) : array_(nb::cast<nb::ndarray<nb::ro>>(capsule)) {
    if (array_.ndim() > kMaxRank) throw nb::value_error("data: rank above 64");
    if (!is_host(array_.device_type())) throw nb::type_error("it lies on a device");
    bool empty = false;
    for (size_t i = 0; i < array_.ndim(); ++i) {
      if (static_cast<int64_t>(array_.shape(i)) < 0)
        throw nb::type_error("it has a negative length");
      empty = empty || array_.shape(i) == 0;
    }
    if (array_.data() == nullptr && !empty) throw nb::type_error("it has no memory");
    for (size_t i = 0; i < array_.ndim(); ++i) {
      shape_.push_back(static_cast<int64_t>(array_.shape(i)));
      stride_bytes_.push_back(array_.stride(i) * static_cast<int64_t>(array_.itemsize()));
    }
  }

  Memory memory() const {
    return {array_.data(), static_cast<int>(array_.ndim()), shape_.data(), stride_bytes_.data(),
            static_cast<int64_t>(array_.itemsize())};
  }

  // Number of onnx.TensorProto.DataType; 0 for a type that is none of ours.
  int element_type() const {
    const nb::dlpack::dtype dtype = array_.dtype();
    if (dtype.lanes != 1) return 0;
    const auto of_size = [&](ElementType b8, ElementType b16, ElementType b32, ElementType b64) {
      switch (dtype.bits) {
        case 8:
          return static_cast<int>(b8);
        case 16:
          return static_cast<int>(b16);
        case 32:
          return static_cast<int>(b32);
        case 64:
          return static_cast<int>(b64);
        default:
          return 0;
      }
    };
    switch (static_cast<nb::dlpack::dtype_code>(dtype.code)) {
      case nb::dlpack::dtype_code::Int:
        return of_size(ElementType::kInt8, ElementType::kInt16, ElementType::kInt32,
                       ElementType::kInt64);
      case nb::dlpack::dtype_code::UInt:
        return of_size(ElementType::kUint8, ElementType::kUint16, ElementType::kUint32,
                       ElementType::kUint64);
      case nb::dlpack::dtype_code::Float:
        return of_size(ElementType{}, ElementType::kFloat16, ElementType::kFloat,
                       ElementType::kDouble);
      case nb::dlpack::dtype_code::Bfloat:
        return of_size(ElementType{}, ElementType::kBfloat16, ElementType{}, ElementType{});
      case nb::dlpack::dtype_code::Bool:
        return of_size(ElementType::kBool, ElementType{}, ElementType{}, ElementType{});
      default:
        return 0;
    }
  }

  nb::tuple shape() const {
    nb::list shape;
    for (const int64_t size : shape_) shape.append(size);
    return nb::tuple(shape);
  }

 private:
  // What the CPU addresses directly, as _arrays.py has it.
  static bool is_host(int device_type) {
    return device_type == nb::device::cpu::value || device_type == nb::device::cuda_host::value ||
           device_type == nb::device::rocm_host::value;
  }

  nb::ndarray<nb::ro> array_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> stride_bytes_;
};

}  // namespace onnx_argmax
