# SPDX-License-Identifier: Apache-2.0
# The execution provider for ONNX Runtime: a library that the runtime loads. It needs neither the
# runtime nor its headers to be built.
set(ort_dir "${PROJECT_SOURCE_DIR}/src/ort")

add_library(onnx_argmax_ep SHARED
  "${ort_dir}/entry.cc"
  "${ort_dir}/factory.cc"
  "${ort_dir}/kernel.cc"
  "${ort_dir}/node.cc"
  "${ort_dir}/pool.cc"
  "${ort_dir}/provider.cc"
  "${ort_dir}/registry.cc"
  "${ort_dir}/runtime.cc"
  "${ort_dir}/settings.cc"
  "${ort_dir}/versions.cc"
)
target_link_libraries(onnx_argmax_ep PRIVATE onnx_argmax_core)
target_compile_options(onnx_argmax_ep PRIVATE -O2 ${warnings})

# By the package's build, or read from where it is written.
set(ort_version "${SKBUILD_PROJECT_VERSION_FULL}")
if(NOT ort_version)
  file(STRINGS "${PROJECT_SOURCE_DIR}/pyproject.toml" ort_version REGEX "^version = " LIMIT_COUNT 1)
  string(REGEX REPLACE ".*\"(.*)\"" "\\1" ort_version "${ort_version}")
endif()
target_compile_definitions(onnx_argmax_ep PRIVATE "ONNX_ARGMAX_VERSION=\"${ort_version}\"")

# Two exported functions and nothing else, the standard library's templates included. The library
# stays mapped once it is loaded, since the threads of its own pool wait in its code for ever.
if(APPLE)
  target_link_options(onnx_argmax_ep PRIVATE
    "LINKER:-exported_symbols_list,${ort_dir}/exports.txt")
  set_target_properties(onnx_argmax_ep PROPERTIES LINK_DEPENDS "${ort_dir}/exports.txt")
elseif(UNIX)
  target_link_options(onnx_argmax_ep PRIVATE
    "LINKER:--version-script=${ort_dir}/exports.map" "LINKER:-z,nodelete" "LINKER:-z,defs")
  set_target_properties(onnx_argmax_ep PROPERTIES LINK_DEPENDS "${ort_dir}/exports.map")
endif()
install(TARGETS onnx_argmax_ep
  LIBRARY DESTINATION onnx_argmax
  RUNTIME DESTINATION onnx_argmax)
