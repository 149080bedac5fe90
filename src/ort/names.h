// SPDX-License-Identifier: Apache-2.0
//
// What the provider is called; the Python side (_ort_library.py) uses the same names.
#pragma once

namespace onnx_argmax::ort {

inline constexpr const char* kProviderName = "OnnxArgMaxExecutionProvider";
inline constexpr const char* kVendor = "onnx-argmax";
inline constexpr const char* kProviderVersion = ONNX_ARGMAX_VERSION;

}  // namespace onnx_argmax::ort
