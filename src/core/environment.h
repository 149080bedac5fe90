// SPDX-License-Identifier: Apache-2.0
//
// Settings from the process's environment: ONNX_ARGMAX_LEVEL and ONNX_ARGMAX_NUM_THREADS.
#pragma once

#include <optional>
#include <string>

#include "dispatch.h"

namespace onnx_argmax {

inline constexpr int kMostThreads = 4096;  // more is a slip of the hand on any machine

// A number of threads from `least` to kMostThreads, and nothing else in the text.
std::optional<int> parse_threads(const char* text, int least) noexcept;

// Text as it can be shown in a message: what is not printable ASCII as \xNN.
std::string shown(const char* text);

// Looks for a level that this machine runs. Returns what is wrong with the name, and then leaves
// `level` as it is; empty where all is well.
std::string find_level(const std::string& name, const Level*& level);

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
