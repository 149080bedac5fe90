// SPDX-License-Identifier: Apache-2.0
//
// The factory: offers the provider for each CPU, and makes one for each session.
#pragma once

#include <memory>

#include "runtime.h"

namespace onnx_argmax::ort {

// Lives until release_factory() is called and each provider that it has made is released, as a
// session may outlive the library's registration.
EpFactory* make_factory(std::unique_ptr<const Runtime> runtime);
void release_factory(EpFactory* factory) noexcept;

}  // namespace onnx_argmax::ort
