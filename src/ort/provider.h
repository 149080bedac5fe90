// SPDX-License-Identifier: Apache-2.0
//
// The provider of one session: claims its ArgMax nodes and has their kernels.
#pragma once

#include "log.h"
#include "registry.h"
#include "settings.h"

namespace onnx_argmax::ort {

class Provider : public Ep {
 public:
  // The runtime outlives the provider. Throws a Failure for an option that is wrong.
  Provider(const Runtime& runtime, const SessionOptions* options, const Logger* logger);
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  const Runtime& runtime() const { return runtime_; }
  const Registry& registry() const { return registry_; }

  void claim_nodes(const Graph& graph, GraphSupportInfo& info) const;

 private:
  void claim(const Node& node, GraphSupportInfo& info) const;

  const Runtime& runtime_;
  const Settings settings_;
  const Log log_;
  const Registry registry_;
};

}  // namespace onnx_argmax::ort
