// SPDX-License-Identifier: Apache-2.0
//
// Words for the runtime's logger.
#pragma once

#include <string>

#include "names.h"
#include "runtime.h"

namespace onnx_argmax::ort {

class Log {
 public:
  // Without a logger nothing is said.
  Log(const Runtime& runtime, const Logger* logger, Severity severity)
      : runtime_(&runtime), logger_(logger), severity_(severity) {}

  // Whether anybody would hear it, so that words for nobody need not be found.
  bool is_heard() const {
    Severity least{};
    return logger_ != nullptr &&
           runtime_->succeeds(runtime_->api().get_logging_severity(logger_, &least)) &&
           severity_ >= least;
  }

  // A logger that fails stops nothing.
  void say(const std::string& words) const {
    if (logger_ == nullptr) return;
    const std::string message = std::string(kProviderName) + ": " + words;
    static constexpr PathChar kWhere[] = {'o', 'n', 'n', 'x', '-', 'a',
                                          'r', 'g', 'm', 'a', 'x', 0};
    runtime_->succeeds(runtime_->api().log_message(logger_, severity_, message.c_str(), kWhere, 0,
                                                   kProviderName));
  }

 private:
  const Runtime* runtime_;
  const Logger* logger_;
  Severity severity_;
};

}  // namespace onnx_argmax::ort
