// SPDX-License-Identifier: Apache-2.0
//
// The contract's order as integers: each element type maps its bits to a key of its own width,
// so that comparing keys as integers is comparing elements as the contract says. No float is
// ever compared, so no flag of the calling thread (flush to zero) can change a result.
#pragma once

#include <cstdint>
#include <limits>

#include "simd.h"

namespace onnx_argmax {
namespace {

template <class T>
struct IntegerOrder {
  using Lane = T;
  static Vector<T> key(Vector<T> bits) { return bits; }
  // Whether one pattern of bits alone has the key, and which.
  static bool has_one_pattern(T key, T& bits) {
    bits = key;
    return true;
  }
};

// False below True. Any byte but 0 is True, as NumPy reads it.
struct BoolOrder {
  using Lane = uint8_t;
  static Vector<uint8_t> key(Vector<uint8_t> bits) { return (Vector<uint8_t>)(bits != 0); }
  static bool has_one_pattern(uint8_t /*key*/, uint8_t& /*bits*/) { return false; }
};

// Sign and magnitude to two's complement: -0 and +0 both become 0, larger magnitudes of either
// sign lie farther out, and -inf is far above the smallest integer. A magnitude above the
// infinity's is a NaN; all of them become the largest integer, which no number reaches.
template <class T, T kInfinity>
struct FloatOrder {
  using Lane = T;
  static Vector<T> key(Vector<T> bits) {
    constexpr T kMagnitude = std::numeric_limits<T>::max();
    constexpr T kSignShift = 8 * sizeof(T) - 1;
    const Vector<T> sign = bits >> kSignShift;
    const Vector<T> magnitude = bits & kMagnitude;
    const Vector<T> key = (magnitude ^ sign) - sign;
    return magnitude > kInfinity ? splat<T>(kMagnitude) : key;
  }
  static bool has_one_pattern(T key, T& bits) {
    constexpr auto kSign = static_cast<Unsigned<T>>(std::numeric_limits<T>::min());
    const auto magnitude = static_cast<Unsigned<T>>(-static_cast<Unsigned<T>>(key));
    bits = key > 0 ? key : static_cast<T>(magnitude | kSign);
    return key != 0 && key != std::numeric_limits<T>::max();
  }
};

using Float16Order = FloatOrder<int16_t, 0x7c00>;
using Bfloat16Order = FloatOrder<int16_t, 0x7f80>;
using FloatOrder32 = FloatOrder<int32_t, 0x7f800000>;
using DoubleOrder = FloatOrder<int64_t, 0x7ff0000000000000>;

// A key as a 64-bit signed integer in the same order, the form in which partial results of any
// type are merged.
template <class T>
inline int64_t ordered(T key) {
  if constexpr (std::numeric_limits<T>::is_signed || sizeof(T) < 8) {
    return static_cast<int64_t>(key);
  } else {
    return static_cast<int64_t>(key ^ (uint64_t{1} << 63));
  }
}

}  // namespace
}  // namespace onnx_argmax
