// SPDX-License-Identifier: Apache-2.0
//
// The vector type: GCC's and Clang's vector extension at the width of the level that the
// including object is compiled for. Everything has internal linkage, so that no other level's
// object can pick up a copy made with instructions its processor lacks.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace onnx_argmax {
namespace {

#if defined(__AVX512BW__) && defined(__AVX512DQ__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr int kQuarterBytes = 16;  // the width that every level has

template <class T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T>
using Vector = typename VectorOf<T, kVectorBytes>::type;
template <class T>
using Quarter = typename VectorOf<T, kQuarterBytes>::type;

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <int kBytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = uint64_t;
};
template <class T>
using Unsigned = typename UnsignedOf<sizeof(T)>::type;

template <class V>
inline V load(const void* from) {
  V vector;
  __builtin_memcpy(&vector, from, sizeof(V));
  return vector;
}

template <class V>
inline void store(void* to, V vector) {
  __builtin_memcpy(to, &vector, sizeof(V));
}

// Asks for memory ahead. The address may be nobody's, which a prefetch may name but a pointer must
// not. Always inlined: GCC takes a function that only prefetches for one without effect and
// leaves its calls out.
[[gnu::always_inline]] inline void prefetch_ahead(const void* from, int64_t bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(bytes);
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}

// A store past the caches, which reads nothing first, to an aligned address. The vector extension
// has no such thing.
inline void stream(void* to, Vector<uint64_t> vector) {
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(vector));
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(vector));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(vector));
#else
  store(to, vector);
#endif
}

// Makes earlier streams visible to other threads in order.
inline void finish_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <class T>
inline Vector<T> splat(T value) {
  return Vector<T>{} + value;
}

template <class V>
inline V max(V a, V b) {
  return a > b ? a : b;
}

template <class V>
inline V min(V a, V b) {
  return a < b ? a : b;
}

// Lane-wise maximum of the quarters (16 bytes each) of a vector.
template <class T>
inline Quarter<T> fold(Vector<T> vector) {
  alignas(kVectorBytes) unsigned char bytes[kVectorBytes];
  store(bytes, vector);
  auto folded = load<Quarter<T>>(bytes);
  for (int at = kQuarterBytes; at < kVectorBytes; at += kQuarterBytes) {
    folded = max(folded, load<Quarter<T>>(bytes + at));
  }
  return folded;
}

template <bool kHigh, class T, class V, int... kLane>
inline V zip_lanes(V a, V b, std::integer_sequence<int, kLane...>) {
  constexpr int kAll = static_cast<int>(sizeof(V) / sizeof(T));
  constexpr int kInQuarter = kQuarterBytes / static_cast<int>(sizeof(T));
  return __builtin_shufflevector(a, b,
                                 (kLane / kInQuarter * kInQuarter + kLane % kInQuarter / 2 +
                                  (kHigh ? kInQuarter / 2 : 0) + (kLane % 2 != 0 ? kAll : 0))...);
}

// In each quarter, interleaves the first (kHigh false) or second halves: a0 b0 a1 b1...
template <bool kHigh, class T, class V>
inline V zip(V a, V b) {
  return zip_lanes<kHigh, T>(a, b, std::make_integer_sequence<int, sizeof(V) / sizeof(T)>{});
}

// A vector of the quarters at an offset behind each of several pointers, `step` pointers apart.
template <class T>
inline Vector<T> join_quarters(const uint8_t* const* from, int step, int64_t offset) {
#if defined(__AVX2__)
  const auto quarter = [&](int i) { return load<__m128i>(from[i * step] + offset); };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(2)), quarter(3), 1);
  return reinterpret_cast<Vector<T>>(_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
#else
  return reinterpret_cast<Vector<T>>(low);
#endif
#else
  static_assert(kVectorBytes == kQuarterBytes);
  return load<Vector<T>>(from[0] + offset + 0 * step);
#endif
}

// Largest lane.
template <class T>
inline T horizontal_max(Vector<T> vector) {
  Quarter<T> folded = fold<T>(vector);
  // Zipping a vector with itself and taking the maximum of both halves leaves every lane twice,
  // with half as many different values: after log2(lanes) steps one is left.
  for (int lanes = kQuarterBytes / sizeof(T); lanes > 1; lanes /= 2) {
    folded = max(zip<false, T>(folded, folded), zip<true, T>(folded, folded));
  }
  return folded[0];
}

#if defined(__AVX512BW__) && defined(__AVX512DQ__)

// Bit i tells whether lane i of a equals lane i of b. The vector extension has no such thing.
template <class T>
inline uint64_t equal_bits(Vector<T> a, Vector<T> b) {
  const auto x = reinterpret_cast<__m512i>(a);
  const auto y = reinterpret_cast<__m512i>(b);
  if constexpr (sizeof(T) == 1) return _mm512_cmpeq_epi8_mask(x, y);
  if constexpr (sizeof(T) == 2) return _mm512_cmpeq_epi16_mask(x, y);
  if constexpr (sizeof(T) == 4) return _mm512_cmpeq_epi32_mask(x, y);
  if constexpr (sizeof(T) == 8) return _mm512_cmpeq_epi64_mask(x, y);
}

#elif defined(__SSE2__)

template <class T>
inline uint64_t equal_bits(Vector<T> a, Vector<T> b) {
  const auto equal = (a == b);
#if defined(__AVX2__)
  const auto x = reinterpret_cast<__m256i>(equal);
  if constexpr (sizeof(T) == 1) return static_cast<uint32_t>(_mm256_movemask_epi8(x));
  if constexpr (sizeof(T) == 2) {
    const __m128i packed =
        _mm_packs_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return static_cast<uint32_t>(_mm_movemask_epi8(packed));
  }
  if constexpr (sizeof(T) == 4) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(x)));
  }
  if constexpr (sizeof(T) == 8) {
    return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(x)));
  }
#else
  const auto x = reinterpret_cast<__m128i>(equal);
  if constexpr (sizeof(T) == 1) return static_cast<uint32_t>(_mm_movemask_epi8(x));
  if constexpr (sizeof(T) == 2) {
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(x, _mm_setzero_si128())));
  }
  if constexpr (sizeof(T) == 4) {
    return static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(x)));
  }
  if constexpr (sizeof(T) == 8) {
    return static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(x)));
  }
#endif
}

#else

// Weighs each lane's mask with its bit and adds; on aarch64 the sums are single instructions.
template <class T>
inline uint64_t equal_bits(Vector<T> a, Vector<T> b) {
  const auto mask = (Vector<Unsigned<T>>)(a == b);
  if constexpr (sizeof(T) == 1) {
    const Vector<uint8_t> weight = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const Vector<uint8_t> weighed = mask & weight;
#if defined(__ARM_NEON)
    const auto x = reinterpret_cast<uint8x16_t>(weighed);
    return vaddv_u8(vget_low_u8(x)) | static_cast<uint64_t>(vaddv_u8(vget_high_u8(x))) << 8;
#else
    uint64_t bits = 0;
    for (int lane = 0; lane < 16; ++lane)
      bits |= static_cast<uint64_t>(weighed[lane]) << (lane & 8);
    return bits;
#endif
  } else {
    uint64_t bits = 0;
    for (int lane = 0; lane < kLanes<T>; ++lane) {
      bits |= static_cast<uint64_t>(mask[lane] & 1) << lane;
    }
    return bits;
  }
}

#endif

}  // namespace
}  // namespace onnx_argmax
