// SPDX-License-Identifier: Apache-2.0
//
// What the runtime says of a node of a graph.
#pragma once

#include <string>
#include <vector>

#include "runtime.h"
#include "versions.h"

namespace onnx_argmax::ort {

std::vector<const Node*> nodes_of(const Runtime& runtime, const Graph& graph);

bool is_argmax(const Runtime& runtime, const Node& node);

// The provider that has the node already; empty where none has.
std::string owner_of(const Runtime& runtime, const Node& node);

int since_version_of(const Runtime& runtime, const Node& node);

// The number of its input's element type; 0 where the runtime does not know it.
int32_t input_type_of(const Runtime& runtime, const Node& node);

// "node 'labels' (ArgMax version 13)".
std::string words_for_node(const Runtime& runtime, const Node& node);

}  // namespace onnx_argmax::ort
