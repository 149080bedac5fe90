// SPDX-License-Identifier: Apache-2.0
//
// The runtime that loaded us: its tables, and statuses made and released by it.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "abi.h"

namespace onnx_argmax::ort {

// An object of the runtime's that we release.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

// Thrown within a callback, and handed to the runtime at its edge.
struct Failure {
  Status* status;
};

class Runtime {
 public:
  Runtime(const Api& api, const EpApi& ep_api) : api_(&api), ep_api_(&ep_api) {}

  const Api& api() const { return *api_; }
  const EpApi& ep_api() const { return *ep_api_; }

  Status* error(ErrorCode code, const char* message) const {
    return api_->create_status(code, message);
  }
  [[noreturn]] void fail(ErrorCode code, const std::string& message) const {
    throw Failure{error(code, message.c_str())};
  }
  // Throws a status that says what went wrong.
  void check(Status* status) const {
    if (status != nullptr) throw Failure{status};
  }
  // Whether all went well; the status is released.
  bool succeeds(Status* status) const noexcept {
    if (status == nullptr) return true;
    api_->release_status(status);
    return false;
  }

  // What the runtime must not be without: where it is not there, a status names it.
  template <class T>
  T& there(T* pointer, const char* what) const {
    if (pointer == nullptr) {
      fail(ErrorCode::kFail, std::string("the runtime handed over no ") + what);
    }
    return *pointer;
  }

  // Runs the body of a callback: nothing is thrown across the boundary.
  template <class Body>
  Status* guarded(Body body) const noexcept {
    try {
      body();
      return nullptr;
    } catch (const Failure& failure) {
      return failure.status;
    } catch (const std::bad_alloc&) {
      return error(ErrorCode::kFail, "there is not enough memory");
    } catch (const std::exception& exception) {
      return error(ErrorCode::kFail, exception.what());
    } catch (...) {
      return error(ErrorCode::kFail, "an unknown exception");
    }
  }

 private:
  const Api* api_;
  const EpApi* ep_api_;
};

// The runtime behind its first table. Where it is too old, or its tables have holes, a status says
// so, and nothing is put into `runtime`.
Status* connect(const ApiBase* base, std::unique_ptr<Runtime>& runtime) noexcept;

}  // namespace onnx_argmax::ort
