# SPDX-License-Identifier: Apache-2.0
# The static core: no Python, no ONNX Runtime in it. kernels.cc is compiled once for each level.
set(core_dir "${PROJECT_SOURCE_DIR}/src/core")
set(warnings -Wall -Wextra -Wshadow -Wpedantic -Wno-psabi)
# A caller's stack may be as small as 64 KiB, and a frame larger than a page could step over the
# guard page below it. Sanitizers make frames of their own.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  list(APPEND warnings
    $<$<CXX_COMPILER_ID:GNU>:-Werror=frame-larger-than=16384>
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wframe-larger-than=16384>)
endif()

add_library(onnx_argmax_core STATIC
  "${core_dir}/argmax.cc"
  "${core_dir}/cpus.cc"
  "${core_dir}/cut.cc"
  "${core_dir}/dispatch.cc"
  "${core_dir}/environment.cc"
  "${core_dir}/limit.cc"
  "${core_dir}/parallel.cc"
  "${core_dir}/partial.cc"
  "${core_dir}/plan.cc"
  "${core_dir}/walk.cc"
)
target_include_directories(onnx_argmax_core PUBLIC "${core_dir}")
target_compile_options(onnx_argmax_core PRIVATE -O3 ${warnings})
find_package(Threads REQUIRED)
target_link_libraries(onnx_argmax_core PUBLIC Threads::Threads)

function(add_level name)
  cmake_parse_arguments(PARSE_ARGV 1 LEVEL "" "TABLE" "FLAGS")
  set(target "onnx_argmax_level_${name}")
  add_library(${target} OBJECT "${core_dir}/kernels.cc")
  target_include_directories(${target} PRIVATE "${core_dir}")
  target_compile_definitions(${target} PRIVATE ONNX_ARGMAX_TABLE=${LEVEL_TABLE})
  # GCC 12 takes the undefined operands in its own AVX-512 header for a mistake.
  target_compile_options(${target} PRIVATE
    -O3 -fno-exceptions -fno-rtti ${warnings} ${LEVEL_FLAGS}
    "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
  target_sources(onnx_argmax_core PRIVATE $<TARGET_OBJECTS:${target}>)
  # A weak symbol made with this level's instructions could be the copy that the linker keeps
  # for everybody, and so end the process on a machine without them.
  if(CMAKE_NM AND NOT APPLE)
    add_custom_command(TARGET onnx_argmax_core PRE_LINK
      COMMAND "${CMAKE_COMMAND}" "-DNM=${CMAKE_NM}" "-DOBJECT=$<TARGET_OBJECTS:${target}>"
              -P "${PROJECT_SOURCE_DIR}/cmake/refuse_weak_symbols.cmake"
      VERBATIM)
  endif()
endfunction()

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
if(processor MATCHES "^(x86_64|amd64)$")
  add_level(x86-64 TABLE kernels_x86_64 FLAGS -march=x86-64)
  add_level(x86-64-v3 TABLE kernels_x86_64_v3 FLAGS -march=x86-64-v3)
  add_level(x86-64-v4 TABLE kernels_x86_64_v4 FLAGS -march=x86-64-v4 -mprefer-vector-width=512)
elseif(processor MATCHES "^(aarch64|arm64)$")
  add_level(aarch64 TABLE kernels_aarch64)
else()
  add_level(generic TABLE kernels_generic)
endif()
