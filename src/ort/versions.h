// SPDX-License-Identifier: Apache-2.0
//
// The operator as data: its versions, its element types, and the words for them.
#pragma once

#include <climits>
#include <cstdint>
#include <string>

#include "element_type.h"

namespace onnx_argmax::ort {

inline constexpr const char* kOperator = "ArgMax";
inline constexpr const char* kDomain = "";
inline constexpr const char* kTypeParameter = "T";

struct TypeRow {
  ElementType type;
  const char* name;   // in tensor(...)
  int since_version;  // of the operator
};

// In the order of their numbers.
inline constexpr TypeRow kTypes[] = {
    {ElementType::kFloat, "float", 1},   {ElementType::kUint8, "uint8", 1},
    {ElementType::kInt8, "int8", 1},     {ElementType::kUint16, "uint16", 1},
    {ElementType::kInt16, "int16", 1},   {ElementType::kInt32, "int32", 1},
    {ElementType::kInt64, "int64", 1},   {ElementType::kFloat16, "float16", 1},
    {ElementType::kDouble, "double", 1}, {ElementType::kUint32, "uint32", 1},
    {ElementType::kUint64, "uint64", 1}, {ElementType::kBfloat16, "bfloat16", 13},
};

struct Version {
  int since;
  int last_opset;
  bool has_select_last_index;

  constexpr bool takes(const TypeRow& row) const { return row.since_version <= since; }
};

inline constexpr Version kVersions[] = {
    {1, 10, false},
    {11, 11, false},
    {12, 12, true},
    {13, INT_MAX, true},
};

// Null where there is none.
const Version* find_version(int since) noexcept;
const TypeRow* find_type(int32_t number) noexcept;

// "ArgMax version 13".
std::string words_for(const Version& version);
// "tensor(float)"; of a number that the operator does not have: "element type number 20".
std::string words_for_type(int32_t number);
// Why a version does not take a type.
std::string words_for_refused_type(const Version& version, int32_t number);
// "(2, 3)", "(5,)", "()", as Python writes shapes.
std::string words_for_shape(const int64_t* shape, size_t rank);

}  // namespace onnx_argmax::ort
