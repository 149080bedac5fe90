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

// The level of that name, whether the machine supports it or not; null where there is none.
const Level* level_named(const char* name) noexcept;

// The machine supports it.
void set_level(const Level& level) noexcept;

}  // namespace onnx_argmax
