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

// Each order has, beside its key, a rough one that costs less. It orders the same, except that it
// may tell equal elements apart; from_rough() makes the key of it. The largest rough key is an
// element of the largest key, then, but need not be the first or the last of them.
template <class T>
struct IntegerOrder {
  using Lane = T;
  static constexpr T kLargest = std::numeric_limits<T>::max();
  static Vector<T> key(Vector<T> bits) { return bits; }
  static Vector<T> rough(Vector<T> bits) { return bits; }
  static T from_rough(T rough) { return rough; }
  // Whether one pattern of bits alone has the key, and which.
  static bool has_one_pattern(T key, T& bits) {
    bits = key;
    return true;
  }
};

// False below True. Any byte but 0 is True, as NumPy reads it.
struct BoolOrder {
  using Lane = uint8_t;
  static constexpr uint8_t kLargest = 1;
  static Vector<uint8_t> key(Vector<uint8_t> bits) { return (Vector<uint8_t>)(bits != 0) & 1; }
  static Vector<uint8_t> rough(Vector<uint8_t> bits) { return bits; }
  static uint8_t from_rough(uint8_t rough) { return rough != 0; }
  static bool has_one_pattern(uint8_t key, uint8_t& bits) {
    bits = 0;
    return key == 0;
  }
};

// Sign and magnitude to two's complement, so that -0 and +0 become one, less a constant by which
// -inf becomes the smallest integer: NaNs with a sign, which lie beyond it, wrap around to the
// largest ones, above those without a sign, and all of them are made the one behind +inf.
template <class T, T kInfinity>
struct FloatOrder {
  using Lane = T;
  using Bits = Unsigned<T>;
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  static constexpr Bits kZero = static_cast<Bits>(kSign - kInfinity);  // what is taken away
  static constexpr T kZeroKey = static_cast<T>(-kZero);
  static constexpr T kLargest = static_cast<T>(kInfinity + Bits{1} - kZero);  // NaN

  static Vector<T> key(Vector<T> bits) {
    const auto key = (Vector<T>)(folded(bits) - ((Vector<Bits>)sign(bits) + splat<Bits>(kZero)));
    return min(key, splat<T>(kLargest));
  }
  // One more than the key for what has no sign, so -0 is below +0; NaNs stay apart.
  static Vector<T> rough(Vector<T> bits) {
    return (Vector<T>)(folded(bits) - splat<Bits>(kZero - 1));
  }
  static T from_rough(T rough) {
    const T key = rough > kZeroKey ? static_cast<T>(rough - 1) : rough;
    return key < kLargest ? key : kLargest;
  }
  static bool has_one_pattern(T key, T& bits) {
    const auto number = static_cast<T>(static_cast<Bits>(key) + kZero);
    const auto magnitude = static_cast<Bits>(-static_cast<Bits>(number));
    bits = number > 0 ? number : static_cast<T>(magnitude | kSign);
    return number != 0 && key != kLargest;
  }

 private:
  // The magnitude, and of what has a sign its ones' complement.
  static Vector<Bits> folded(Vector<T> bits) {
    return (Vector<Bits>)((bits & static_cast<T>(~kSign)) ^ sign(bits));
  }
  static Vector<T> sign(Vector<T> bits) { return bits >> static_cast<T>(8 * sizeof(T) - 1); }
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
