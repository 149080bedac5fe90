// SPDX-License-Identifier: Apache-2.0
//
// The kernel registry: one definition for each version of the operator, with that version's own
// element types.
#pragma once

#include <iterator>

#include "runtime.h"
#include "settings.h"
#include "versions.h"

namespace onnx_argmax::ort {

// What the kernels of one version are made with.
struct KernelSource {
  const Runtime* runtime;
  const Settings* settings;
  const Version* version;
};

class Registry {
 public:
  // Both outlive the registry, and that the kernels made from it.
  Registry(const Runtime& runtime, const Settings& settings);
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  const KernelRegistry* get() const { return registry_.get(); }

 private:
  KernelSource sources_[std::size(kVersions)];
  Owned<KernelRegistry> registry_;
};

}  // namespace onnx_argmax::ort
