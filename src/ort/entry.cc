// SPDX-License-Identifier: Apache-2.0
//
// The library's two functions, the only symbols that it exports (exports.map).
#include <utility>

#include "environment.h"
#include "factory.h"
#include "names.h"
#include "runtime.h"

namespace ort = onnx_argmax::ort;

#if defined(_WIN32)
#define ONNX_ARGMAX_EXPORT extern "C" __declspec(dllexport)
#else
#define ONNX_ARGMAX_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// A runtime that gives not even its first table cannot be told anything: it gets no factory.
ONNX_ARGMAX_EXPORT ort::Status* CreateEpFactories(const char* /*registration_name*/,
                                                  const ort::ApiBase* base,
                                                  const ort::Logger* /*logger*/,
                                                  ort::EpFactory** factories, size_t most,
                                                  size_t* count) noexcept {
  if (count != nullptr) *count = 0;
  std::unique_ptr<ort::Runtime> connected;
  ort::Status* const status = ort::connect(base, connected);
  if (connected == nullptr) return status;
  const ort::Runtime runtime = *connected;
  return runtime.guarded([&] {
    size_t& made = runtime.there(count, "place for the number of factories");
    ort::EpFactory*& factory = runtime.there(factories, "place for factories");
    if (most == 0)
      runtime.fail(ort::ErrorCode::kInvalidArgument, "there is no room for a factory");
    const std::string wrong = onnx_argmax::apply_environment();
    if (!wrong.empty()) {
      runtime.fail(ort::ErrorCode::kInvalidArgument,
                   std::string(ort::kProviderName) + ": " + wrong);
    }
    factory = ort::make_factory(std::move(connected));
    made = 1;
  });
}

ONNX_ARGMAX_EXPORT ort::Status* ReleaseEpFactory(ort::EpFactory* factory) noexcept {
  ort::release_factory(factory);
  return nullptr;
}
