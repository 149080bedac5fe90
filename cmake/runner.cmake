# SPDX-License-Identifier: Apache-2.0
# The core on its own, for tests on other processors and under sanitizers; see tests/native.
add_executable(onnx_argmax_runner "${PROJECT_SOURCE_DIR}/tests/native/runner.cc")
target_link_libraries(onnx_argmax_runner PRIVATE onnx_argmax_core)
target_compile_options(onnx_argmax_runner PRIVATE ${warnings})
