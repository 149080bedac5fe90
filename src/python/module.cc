// SPDX-License-Identifier: Apache-2.0
//
// The native module: converts, releases the GIL, calls the core. What a caller may pass is
// checked in Python (_argmax.py); what is checked here keeps a wrong call from reading or
// writing where it must not.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argmax.h"
#include "dispatch.h"
#include "environment.h"
#include "parallel.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace onnx_argmax {
namespace {

// Memory with shape and strides, whatever protocol it came by.
struct Memory {
  const void* data;
  int rank;
  const int64_t* shape;
  const int64_t* stride_bytes;
  int64_t item_size;
};

// First and last byte (exclusive) that strides reach.
std::pair<uintptr_t, uintptr_t> extent(const Memory& memory) {
  auto low = reinterpret_cast<uintptr_t>(memory.data);
  auto high = low + static_cast<uintptr_t>(memory.item_size);
  for (int i = 0; i < memory.rank; ++i) {
    if (memory.shape[i] == 0) return {low, low};
    const int64_t reach = (memory.shape[i] - 1) * memory.stride_bytes[i];
    (reach < 0 ? low : high) += static_cast<uintptr_t>(reach);
  }
  return {low, high};
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
  nb::ndarray<nb::ro> array_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> stride_bytes_;
};

// The result's strides in the order of the data's axes; the reduced axis, where it was dropped,
// gets one that nobody looks at.
void match_out(const Memory& data, const Memory& out, int axis, int64_t* out_stride_bytes) {
  const bool keepdims = out.rank == data.rank;
  bool fits = keepdims || out.rank + 1 == data.rank;
  for (int i = 0, o = 0; fits && i < data.rank; ++i) {
    const bool reduced = i == axis;
    if (reduced && !keepdims) continue;
    out_stride_bytes[i] = out.stride_bytes[o];
    fits = out.shape[o] == (reduced ? 1 : data.shape[i]);
    ++o;
  }
  if (!fits) throw nb::value_error("out: its shape does not fit that of data");
}

void run(const Memory& data, int element_type, bool byte_swapped, int axis, bool select_last_index,
         const Memory& out, int threads) {
  const auto type = static_cast<ElementType>(element_type);
  if (element_type < 0 || element_type >= kElementTypeLimit || item_size(type) == 0 ||
      item_size(type) != data.item_size) {
    throw nb::value_error("element_type: it does not fit the array");
  }
  if (axis != kFlatten && (axis < 0 || axis >= (data.rank == 0 ? 1 : data.rank))) {
    throw nb::value_error("axis: out of range");
  }
  int64_t out_stride_bytes[kMaxRank]{};
  if (axis != kFlatten && data.rank > 0) match_out(data, out, axis, out_stride_bytes);
  for (int i = 0; i < data.rank; ++i) {
    if (data.shape[i] == 0 && (axis == kFlatten || axis == i)) {
      throw nb::value_error("data: the reduced axis has length 0");
    }
  }
  const auto [data_low, data_high] = extent(data);
  const auto [out_low, out_high] = extent(out);
  if (data_low < out_high && out_low < data_high) {
    throw nb::value_error(
        "out: its memory overlaps that of data; pass an array with memory of its own");
  }
  Request request{};
  request.type = type;
  request.byte_swapped = byte_swapped;
  request.select_last_index = select_last_index;
  request.data = data.data;
  request.rank = data.rank;
  request.shape = data.shape;
  request.stride_bytes = data.stride_bytes;
  request.axis = axis;
  request.out = const_cast<void*>(out.data);
  request.out_item_size = static_cast<int>(out.item_size);
  request.out_stride_bytes = out_stride_bytes;
  request.executor = own_pool(threads > 0 ? threads : default_threads());
  Status status;
  {
    nb::gil_scoped_release released;
    status = argmax(request);
  }
  if (status == Status::kOutOfMemory) throw std::bad_alloc();
}

void argmax_of(nb::object data, int element_type, bool byte_swapped, int axis,
               bool select_last_index, nb::object out, int threads) {
  const Buffer out_buffer(out, PyBUF_STRIDES | PyBUF_WRITABLE);
  if (const Tensor* tensor = nullptr; nb::try_cast<const Tensor*>(data, tensor) && tensor) {
    run(tensor->memory(), element_type, byte_swapped, axis, select_last_index, out_buffer.memory(),
        threads);
  } else {
    const Buffer buffer(data, PyBUF_STRIDES);
    run(buffer.memory(), element_type, byte_swapped, axis, select_last_index, out_buffer.memory(),
        threads);
  }
}

std::vector<std::string> supported_levels() {
  std::vector<std::string> names;
  for (int i = 0; i < level_count(); ++i) {
    if (all_levels()[i].supported()) names.emplace_back(all_levels()[i].name);
  }
  return names;
}

#if defined(__clang__)
constexpr const char* kCompiler = "Clang " __clang_version__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

}  // namespace
}  // namespace onnx_argmax

NB_MODULE(_native, module) {
  using namespace onnx_argmax;
  if (const std::string wrong = apply_environment(); !wrong.empty()) {
    throw nb::import_error(wrong.c_str());
  }
  module.def("version", [] { return ONNX_ARGMAX_VERSION; });
  module.def("compiler", [] { return kCompiler; });

  nb::class_<Tensor>(module, "Tensor", "A tensor in the CPU's memory, taken through DLPack.")
      .def_prop_ro("element_type", &Tensor::element_type)
      .def_prop_ro("shape", &Tensor::shape, nb::sig("def shape(self) -> tuple[int, ...]"));

  module.def("argmax", &argmax_of, "data"_a, "element_type"_a, "byte_swapped"_a, "axis"_a,
             "select_last_index"_a, "out"_a, "threads"_a);
  module.def(
      "from_dlpack", [](nb::object capsule) { return Tensor(std::move(capsule)); }, "capsule"_a);
  module.def("levels", &supported_levels);
  module.def("get_level", [] { return active_level().name; });
  module.def(
      "set_level",
      [](const std::string& name) {
        if (const std::string wrong = apply_level(name); !wrong.empty()) {
          throw nb::value_error(wrong.c_str());
        }
      },
      "name"_a);
  module.def("get_num_threads", &default_threads);
  module.def("set_num_threads", &set_default_threads, "threads"_a);
  module.def("set_grain_bytes", &set_grain_bytes, "grain_bytes"_a);
}
