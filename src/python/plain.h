// SPDX-License-Identifier: Apache-2.0
//
// The usual call, without a detour through Python: a NumPy array of its own native dtype, and a
// new int64 result or a NumPy array for it. On a small array the detour takes longer than
// everything else together.
#pragma once

#include <nanobind/nanobind.h>

#include <climits>
#include <cstdint>

#include "argmax.h"
#include "memory.h"

namespace onnx_argmax {

// What NumPy calls its things; looked up once, never given back.
class NumPy {
 public:
  NumPy() {
    const nb::module_ numpy = nb::module_::import_("numpy");
    array_type_ = nb::object(numpy.attr("ndarray")).release();
    empty_ = nb::object(numpy.attr("empty")).release();
    const nb::object dtype = numpy.attr("dtype");
    dtype_name_ = nb::str("dtype").release();
    static constexpr struct {
      const char* name;
      ElementType type;
    } kTypes[] = {
        {"float32", ElementType::kFloat},   {"uint8", ElementType::kUint8},
        {"int8", ElementType::kInt8},       {"uint16", ElementType::kUint16},
        {"int16", ElementType::kInt16},     {"int32", ElementType::kInt32},
        {"int64", ElementType::kInt64},     {"bool", ElementType::kBool},
        {"float16", ElementType::kFloat16}, {"float64", ElementType::kDouble},
        {"uint32", ElementType::kUint32},   {"uint64", ElementType::kUint64},
    };
    for (const auto& [name, type] : kTypes) {
      dtypes_[count_] = dtype(name).release();
      types_[count_++] = type;
    }
    int64_ = dtype("int64").release();
  }

  bool is_array(nb::handle object) const { return object.type().is(array_type_); }

  // NumPy has one dtype object for each of its own types in native byte order. Any other object
  // (another byte order, another library's type) is answered with 0.
  int element_type(nb::handle array) const {
    nb::object dtype = nb::steal(PyObject_GetAttr(array.ptr(), dtype_name_.ptr()));
    if (!dtype.is_valid()) throw nb::python_error();
    for (int i = 0; i < count_; ++i) {
      if (dtype.is(dtypes_[i])) return static_cast<int>(types_[i]);
    }
    return 0;
  }

  nb::object empty_int64(nb::handle shape) const {
    PyObject* const arguments[] = {shape.ptr(), int64_.ptr()};
    nb::object array = nb::steal(PyObject_Vectorcall(empty_.ptr(), arguments, 2, nullptr));
    if (!array.is_valid()) throw nb::python_error();
    return array;
  }

 private:
  nb::handle array_type_;
  nb::handle empty_;
  nb::handle dtype_name_;
  nb::handle int64_;
  nb::handle dtypes_[16];
  ElementType types_[16]{};
  int count_ = 0;
};

// A plain integer of at least `least` that fits; -1 for everything else.
inline int small_integer(nb::handle value, int least) {
  if (!PyLong_CheckExact(value.ptr())) return -1;
  int overflow = 0;
  const long number = PyLong_AsLongAndOverflow(value.ptr(), &overflow);
  return overflow == 0 && number >= least && number <= INT_MAX ? static_cast<int>(number) : -1;
}

// The axis, counted from the first; -1 where the general way has something to say.
inline int plain_axis(const Memory& data, nb::handle axis) {
  if (!PyLong_CheckExact(axis.ptr())) return -1;
  int overflow = 0;
  const long number = PyLong_AsLongAndOverflow(axis.ptr(), &overflow);
  if (overflow != 0 || number < -data.rank || number >= data.rank) return -1;
  const int position = static_cast<int>(number < 0 ? number + data.rank : number);
  return data.shape[position] == 0 ? -1 : position;
}

inline nb::object plain_result_shape(const Memory& data, int axis, bool keepdims) {
  nb::object shape = nb::steal(PyTuple_New(keepdims ? data.rank : data.rank - 1));
  if (!shape.is_valid()) throw nb::python_error();
  for (int i = 0, o = 0; i < data.rank; ++i) {
    if (i == axis && !keepdims) continue;
    PyObject* const size = PyLong_FromLongLong(i == axis ? 1 : data.shape[i]);
    if (size == nullptr) throw nb::python_error();
    PyTuple_SET_ITEM(shape.ptr(), o++, size);
  }
  return shape;
}

inline bool is_result_shape(const Memory& data, int axis, bool keepdims, const Memory& out) {
  if (out.rank != (keepdims ? data.rank : data.rank - 1)) return false;
  for (int i = 0, o = 0; i < data.rank; ++i) {
    if (i == axis && !keepdims) continue;
    if (out.shape[o++] != (i == axis ? 1 : data.shape[i])) return false;
  }
  return true;
}

// Whether indices of an integer type number an axis of that length; false for other types.
inline bool can_number(int element_type, int64_t length) {
  switch (static_cast<ElementType>(element_type)) {
    case ElementType::kInt64:
    case ElementType::kUint64:
      return true;
    case ElementType::kInt32:
      return length - 1 <= INT32_MAX;
    case ElementType::kUint32:
      return length - 1 <= UINT32_MAX;
    case ElementType::kInt16:
      return length - 1 <= INT16_MAX;
    case ElementType::kUint16:
      return length - 1 <= UINT16_MAX;
    case ElementType::kInt8:
      return length - 1 <= INT8_MAX;
    case ElementType::kUint8:
      return length - 1 <= UINT8_MAX;
    default:
      return false;
  }
}

}  // namespace onnx_argmax
