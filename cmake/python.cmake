# SPDX-License-Identifier: Apache-2.0
# The native module only converts and calls, so nanobind's size-minded flags suit it; the core
# keeps its own.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_native NB_STATIC FREE_THREADED "${PROJECT_SOURCE_DIR}/src/python/module.cc")
target_link_libraries(_native PRIVATE onnx_argmax_core)
target_compile_definitions(_native PRIVATE "ONNX_ARGMAX_VERSION=\"${SKBUILD_PROJECT_VERSION_FULL}\"")
install(TARGETS _native LIBRARY DESTINATION onnx_argmax)
