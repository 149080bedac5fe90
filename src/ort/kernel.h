// SPDX-License-Identifier: Apache-2.0
//
// One ArgMax node of a session.
#pragma once

#include "abi.h"

namespace onnx_argmax::ort {

// For KernelRegistry: `state` is the KernelSource of the node's version.
Status* create_kernel(void* state, const KernelInfo* info, KernelImpl** kernel) noexcept;

}  // namespace onnx_argmax::ort
