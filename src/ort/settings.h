// SPDX-License-Identifier: Apache-2.0
//
// The provider's options: threads, level, log.
#pragma once

#include "dispatch.h"
#include "runtime.h"

namespace onnx_argmax::ort {

struct Settings {
  int threads = 0;               // 0: the runtime's own pool
  const Level* level = nullptr;  // never null once read
  Severity log = Severity::kVerbose;
};

// From a session's options, which may be null. Throws a Failure for an option or a value that is
// unknown.
Settings read_settings(const Runtime& runtime, const SessionOptions* options);

}  // namespace onnx_argmax::ort
