// SPDX-License-Identifier: Apache-2.0
//
// Settings from the process's environment: ONNX_ARGMAX_LEVEL and ONNX_ARGMAX_NUM_THREADS.
#pragma once

#include <string>

namespace onnx_argmax {

// Forces the level that ONNX_ARGMAX_LEVEL names and takes the number of threads from
// ONNX_ARGMAX_NUM_THREADS (else from the CPUs that are available). Returns what is wrong with a
// variable, and then changes nothing; empty where all is well.
std::string apply_environment();

// Forces a level by name. Returns what is wrong with the name; empty where all is well.
std::string apply_level(const std::string& name);

// Most threads that a call uses unless it says otherwise; at least 1.
int default_threads() noexcept;
void set_default_threads(int threads) noexcept;

}  // namespace onnx_argmax
