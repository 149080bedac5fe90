// SPDX-License-Identifier: Apache-2.0
//
// The native module: converts, releases the GIL, calls the core. What a caller may pass is
// checked in Python (_argmax.py); what is checked here keeps a wrong call from reading or
// writing where it must not.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "argmax.h"
#include "dispatch.h"
#include "environment.h"
#include "file_runs.h"
#include "gil.h"
#include "kernels.h"
#include "limit.h"
#include "memory.h"
#include "parallel.h"
#include "partial.h"
#include "partials.h"
#include "plain.h"

using namespace nb::literals;

namespace onnx_argmax {
namespace {

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

// What is wrong with a variable of the environment. It is said at first use: an exception while
// the module is imported would reach nobody, as the command itself lies in the package.
std::string& environment_fault() {
  static std::string fault;
  return fault;
}

void check_environment() {
  if (!environment_fault().empty()) throw nb::value_error(environment_fault().c_str());
}

// What a call wants beyond its arrays.
struct Wish {
  int element_type;
  bool byte_swapped;
  int axis;
  bool select_last_index;
  int threads;
  bool out_keys = false;  // out has partial results
  int64_t index_offset = 0;
};

void run(const Memory& data, const Memory& whole_out, const Wish& wish) {
  check_environment();
  const int axis = wish.axis;
  const ElementType type = checked_type(wish.element_type);
  if (item_size(type) != data.item_size) {
    throw nb::value_error("element_type: it does not fit the array");
  }
  const Memory out = wish.out_keys ? indices_of(whole_out, type) : whole_out;
  if (axis != kFlatten && (axis < 0 || axis >= (data.rank == 0 ? 1 : data.rank))) {
    throw nb::value_error("axis: out of range");
  }
  if (size_slot(static_cast<int>(out.item_size)) < 0) {
    throw nb::value_error("out: its items have no size of an integer");
  }
  if (axis == kFlatten || data.rank == 0) {
    for (int i = 0; i < out.rank; ++i) {
      if (out.shape[i] != 1) throw nb::value_error("out: its shape does not fit that of data");
    }
  }
  int64_t out_stride_bytes[kMaxRank]{};
  if (axis != kFlatten && data.rank > 0) match_out(data, out, axis, out_stride_bytes);
  for (int i = 0; i < data.rank; ++i) {
    if (data.shape[i] == 0 && (axis == kFlatten || axis == i)) {
      throw nb::value_error("data: the reduced axis has length 0");
    }
  }
  if (overlaps_itself(whole_out)) {
    throw nb::value_error("out: elements of it share memory; pass an array without such overlap");
  }
  const auto [data_low, data_high] = extent(data);
  const auto [out_low, out_high] = extent(whole_out);
  if (data_low < out_high && out_low < data_high) {
    throw nb::value_error(
        "out: its memory overlaps that of data, or lies between its elements; pass an array with "
        "memory of its own");
  }
  Request request{};
  request.type = type;
  request.byte_swapped = wish.byte_swapped;
  request.select_last_index = wish.select_last_index;
  request.data = data.data;
  request.rank = data.rank;
  request.shape = data.shape;
  request.stride_bytes = data.stride_bytes;
  request.axis = axis;
  request.out = const_cast<void*>(out.data);
  request.out_item_size = static_cast<int>(out.item_size);
  request.out_stride_bytes = out_stride_bytes;
  request.out_keys = wish.out_keys;
  request.index_offset = wish.index_offset;
  request.executor = own_pool(wish.threads > 0 ? wish.threads : default_threads());
  const Status status = without_gil([&] { return argmax(request); });
  if (status == Status::kOutOfMemory) throw std::bad_alloc();
}

void run_on(nb::object data, nb::object out, const Wish& wish) {
  const Buffer out_buffer(out, PyBUF_STRIDES | PyBUF_WRITABLE);
  if (const Tensor* tensor = nullptr; nb::try_cast<const Tensor*>(data, tensor) && tensor) {
    run(tensor->memory(), out_buffer.memory(), wish);
  } else {
    const Buffer buffer(data, PyBUF_STRIDES);
    run(buffer.memory(), out_buffer.memory(), wish);
  }
}

void argmax_of(nb::object data, int element_type, bool byte_swapped, int axis,
               bool select_last_index, nb::object out, int threads) {
  run_on(data, out, {element_type, byte_swapped, axis, select_last_index, threads});
}

void partials_of(nb::object data, int element_type, bool byte_swapped, int axis,
                 bool select_last_index, nb::object partials, int64_t index_offset, int threads) {
  run_on(data, partials,
         {element_type, byte_swapped, axis, select_last_index, threads, true, index_offset});
}

void merge_partials_of(nb::object into, nb::object from, int element_type,
                       bool select_last_index) {
  const Buffer into_buffer(into, PyBUF_STRIDES | PyBUF_WRITABLE);
  const Buffer from_buffer(from, PyBUF_STRIDES);
  const MergeRequest request =
      merge_request(into_buffer.memory(), from_buffer.memory(), element_type, select_last_index);
  without_gil([&] {
    merge_partial_arrays(request);
    return 0;
  });
}

const NumPy* numpy = nullptr;  // set as the module is imported, never deleted

bool is_bool(nb::handle value) { return value.is(Py_True) || value.is(Py_False); }

// None where the general way, through the checks in Python, must be taken: it knows the words.
nb::object argmax_plain(nb::handle data, nb::handle axis, nb::handle keepdims,
                        nb::handle select_last_index, nb::handle out, nb::handle threads) {
  if (!numpy->is_array(data) || !is_bool(keepdims) || !is_bool(select_last_index)) {
    return nb::none();
  }
  const int element_type = numpy->element_type(data);
  const int most_threads = threads.is_none() ? 0 : small_integer(threads, 1);
  if (element_type == 0 || most_threads < 0) return nb::none();
  const Buffer buffer(data, PyBUF_STRIDES);
  const Memory memory = buffer.memory();
  const int position = plain_axis(memory, axis);
  if (position < 0) return nb::none();
  const bool keep = keepdims.is(Py_True);
  nb::object result;
  if (out.is_none()) {
    result = numpy->empty_int64(plain_result_shape(memory, position, keep));
  } else {
    if (!numpy->is_array(out) || !can_number(numpy->element_type(out), memory.shape[position])) {
      return nb::none();
    }
    result = nb::borrow(out);
  }
  try {
    const Buffer out_buffer(result, PyBUF_STRIDES | PyBUF_WRITABLE);
    if (!out.is_none() && !is_result_shape(memory, position, keep, out_buffer.memory())) {
      return nb::none();
    }
    run(memory, out_buffer.memory(),
        {element_type, false, position, select_last_index.is(Py_True), most_threads});
  } catch (const nb::python_error&) {  // read-only
    return nb::none();
  }
  return result;
}

// For benchmarks/ alone.
uint64_t read_and_write_of(nb::object data, nb::object out, bool past_caches, int threads) {
  const Buffer from(data, PyBUF_STRIDES);
  const Buffer to(out, PyBUF_STRIDES | PyBUF_WRITABLE);
  for (const Memory& memory : {from.memory(), to.memory()}) {
    if (memory.rank != 1 || memory.item_size != 1 || memory.stride_bytes[0] != 1) {
      throw nb::value_error("read_and_write: plain bytes are needed");
    }
  }
  const LimitRequest request{from.memory().data,
                             from.memory().shape[0],
                             const_cast<void*>(to.memory().data),
                             to.memory().shape[0],
                             past_caches,
                             own_pool(threads)};
  return without_gil([&] { return read_and_write(request); });
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
  environment_fault() = apply_environment();
  if (numpy == nullptr) numpy = new NumPy();
  module.def("version", [] { return ONNX_ARGMAX_VERSION; });
  module.def("compiler", [] { return kCompiler; });

  nb::class_<Tensor>(module, "Tensor", "A tensor in the CPU's memory, taken through DLPack.")
      .def_prop_ro("element_type", &Tensor::element_type)
      .def_prop_ro("shape", &Tensor::shape, nb::sig("def shape(self) -> tuple[int, ...]"));

  module.def("argmax", &argmax_of, "data"_a, "element_type"_a, "byte_swapped"_a, "axis"_a,
             "select_last_index"_a, "out"_a, "threads"_a);
  module.def("argmax_partials", &partials_of, "data"_a, "element_type"_a, "byte_swapped"_a,
             "axis"_a, "select_last_index"_a, "partials"_a, "index_offset"_a, "threads"_a);
  module.def("merge_partials", &merge_partials_of, "into"_a, "other"_a, "element_type"_a,
             "select_last_index"_a);
  module.def(
      "argmax_plain", &argmax_plain, "data"_a.none(), "axis"_a.none(), "keepdims"_a.none(),
      "select_last_index"_a.none(), "out"_a.none(), "threads"_a.none(),
      nb::sig("def argmax_plain(data: object, axis: object, keepdims: object, "
              "select_last_index: object, out: object, threads: object) -> typing.Any | None"));
  module.def(
      "from_dlpack", [](nb::object capsule) { return Tensor(std::move(capsule)); }, "capsule"_a);
  module.def("read_runs", &read_runs_of, "file"_a, "buffer"_a, "places"_a);
  module.def("read_and_write", &read_and_write_of, "data"_a, "out"_a, "past_caches"_a,
             "threads"_a);
  module.def("levels", &supported_levels);
  module.def("get_level", [] {
    check_environment();
    return active_level().name;
  });
  module.def(
      "set_level",
      [](const std::string& name) {
        if (const std::string wrong = apply_level(name); !wrong.empty()) {
          throw nb::value_error(wrong.c_str());
        }
      },
      "name"_a);
  module.def("get_num_threads", [] {
    check_environment();
    return default_threads();
  });
  module.def("set_num_threads", &set_default_threads, "threads"_a);
  module.def("set_grain_bytes", &set_grain_bytes, "grain_bytes"_a);
}
