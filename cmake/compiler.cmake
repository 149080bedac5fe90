# SPDX-License-Identifier: Apache-2.0
# The compiler must know C++20 and the shuffles of the vector extension. One that is missing or
# too old is refused here, in words, instead of with a page of errors.
set(advice "install GCC 12 or later, or Clang 16 or later (Debian and Ubuntu: apt install g++; \
Fedora: dnf install gcc-c++; macOS: xcode-select --install), and name it with the environment \
variable CXX where it is not the default")

include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
  message(FATAL_ERROR "onnx-argmax: no C++ compiler was found: ${advice}")
endif()
enable_language(CXX)

set(found "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER})")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(least 12)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(least 16)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "AppleClang")
  set(least 15)
else()
  message(FATAL_ERROR
    "onnx-argmax: ${found} has no vector extension as GCC and Clang have it: ${advice}")
endif()
if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS least)
  message(FATAL_ERROR "onnx-argmax: ${found} is too old: ${advice}")
endif()
