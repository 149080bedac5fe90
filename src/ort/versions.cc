// SPDX-License-Identifier: Apache-2.0
#include "versions.h"

namespace onnx_argmax::ort {

const Version* find_version(int since) noexcept {
  for (const Version& version : kVersions) {
    if (version.since == since) return &version;
  }
  return nullptr;
}

const TypeRow* find_type(int32_t number) noexcept {
  for (const TypeRow& row : kTypes) {
    if (static_cast<int32_t>(row.type) == number) return &row;
  }
  return nullptr;
}

std::string words_for(const Version& version) {
  return std::string(kOperator) + " version " + std::to_string(version.since);
}

std::string words_for_type(int32_t number) {
  const TypeRow* const row = find_type(number);
  if (row == nullptr) return "number " + std::to_string(number) + " of TensorProto.DataType";
  return std::string("tensor(") + row->name + ")";
}

std::string words_for_refused_type(const Version& version, int32_t number) {
  std::string allowed;
  for (const TypeRow& row : kTypes) {
    if (!version.takes(row)) continue;
    if (!allowed.empty()) allowed += ", ";
    allowed += words_for_type(static_cast<int32_t>(row.type));
  }
  return "data: element type " + words_for_type(number) + " is not supported by " +
         words_for(version) + "; allowed are " + allowed;
}

std::string words_for_shape(const int64_t* shape, size_t rank) {
  std::string words = "(";
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0) words += ", ";
    words += std::to_string(shape[i]);
  }
  return words + (rank == 1 ? ",)" : ")");
}

}  // namespace onnx_argmax::ort
