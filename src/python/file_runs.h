// SPDX-License-Identifier: Apache-2.0
//
// Reading equal runs of bytes of a file, one behind the other, into a buffer: in one call without
// the GIL. A call of Python's for each run would give it away and ask for it back each time, and
// where another thread has it then, waiting for it takes longer than reading does.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "gil.h"
#include "memory.h"

namespace onnx_argmax {

struct FileRuns {
  int file;
  uint8_t* to;
  int64_t run_bytes;
  const int64_t* places;  // in the file, of each run's first byte
  int64_t count;
  int error = 0;  // errno of what failed

  // Bytes that were read: fewer than all where the file ends before, or reading failed.
  int64_t read() {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t done = 0; done < run_bytes;) {
        const ssize_t got =
            pread(file, to + i * run_bytes + done, static_cast<size_t>(run_bytes - done),
                  static_cast<off_t>(places[i] + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = errno;
        if (got <= 0) return i * run_bytes + done;
        done += got;
      }
    }
    return count * run_bytes;
  }
};

inline int64_t read_runs_of(int file, nb::object buffer, nb::object places) {
  const Buffer to(buffer, PyBUF_STRIDES | PyBUF_WRITABLE);
  const Buffer from(places, PyBUF_STRIDES);
  const Memory bytes = to.memory();
  const Memory starts = from.memory();
  const bool fits = bytes.rank == 1 && bytes.item_size == 1 && bytes.stride_bytes[0] == 1 &&
                    starts.rank == 1 && starts.item_size == 8 && starts.stride_bytes[0] == 8;
  if (!fits || (starts.shape[0] > 0 && bytes.shape[0] % starts.shape[0] != 0)) {
    throw nb::value_error("read_runs: plain bytes and a place for each equal run are needed");
  }
  if (starts.shape[0] == 0) return 0;
  FileRuns runs{file, static_cast<uint8_t*>(const_cast<void*>(bytes.data)),
                bytes.shape[0] / starts.shape[0], static_cast<const int64_t*>(starts.data),
                starts.shape[0]};
  const int64_t done = without_gil([&] { return runs.read(); });
  if (runs.error != 0) {
    errno = runs.error;
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  return done;
}

}  // namespace onnx_argmax
