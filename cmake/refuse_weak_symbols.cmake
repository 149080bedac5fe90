# SPDX-License-Identifier: Apache-2.0
# cmake -DNM=... -DOBJECT=... -P refuse_weak_symbols.cmake
execute_process(COMMAND "${NM}" "${OBJECT}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* [WVuwv] [^\n]*" weak "${symbols}")
if(weak)
  list(JOIN weak "\n" weak)
  message(FATAL_ERROR "weak symbols in ${OBJECT}:\n${weak}\n"
    "give what they stand for internal linkage (an unnamed namespace)")
endif()
