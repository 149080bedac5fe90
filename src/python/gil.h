// SPDX-License-Identifier: Apache-2.0
//
// Running without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#if defined(__GLIBC__)
#include <cxxabi.h>
#include <unistd.h>
#endif

namespace onnx_argmax {

// Takes the GIL back. When the interpreter is ending, Python up to 3.13 ends any other thread that
// asks for it: by unwinding its stack, which C++ answers with the end of the process where a frame
// must not throw. Such a thread sleeps instead until the process is gone, as it does in later
// releases of Python.
inline void restore_thread(PyThreadState* state) {
#if defined(__GLIBC__)
  try {
    PyEval_RestoreThread(state);
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  PyEval_RestoreThread(state);
#endif
}

// What work returns; it must not throw.
template <class Work>
auto without_gil(Work work) {
  PyThreadState* const state = PyEval_SaveThread();
  const auto result = work();
  restore_thread(state);
  return result;
}

}  // namespace onnx_argmax
