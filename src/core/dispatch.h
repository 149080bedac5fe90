// SPDX-License-Identifier: Apache-2.0
//
// Levels: one object of kernels for each instruction-set level. Listed best first, detected once
// at load, forced by name.
#pragma once

#include "kernels.h"

namespace onnx_argmax {

struct Level {
  const char* name;
  const Kernels* kernels;
  bool (*supported)() noexcept;
};

// Levels that this build has, best first; count() of them.
const Level* all_levels() noexcept;
int level_count() noexcept;

// The level in use: until set_level() is called, the best one that the machine supports.
const Level& active_level() noexcept;

enum class SetLevel : uint8_t { kOk, kUnknown, kUnsupported };
SetLevel set_level(const char* name) noexcept;

}  // namespace onnx_argmax
