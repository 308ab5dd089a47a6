// Short vectors: compiler extensions that GCC >= 12 and Clang share, and the few instructions that they do not cover.
// Intrinsics are used here only.
#pragma once
#include "kernel.h"
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512BW__)
constexpr int REGISTER = 64;
#elif defined(__AVX2__)
constexpr int REGISTER = 32;
#else
constexpr int REGISTER = 16;
#endif

template <class T, int N> struct Vec { typedef T type __attribute__((vector_size(N * sizeof(T)))); };
template <class T, int N> using vec = typename Vec<T, N>::type;
template <class V> constexpr int lanes_of = sizeof(V) / sizeof(V{}[0]);

template <int... I> struct Lanes {};
#if defined(__clang__)
template <class, int... I> using LanesOf = Lanes<I...>;
template <int N> using first = __make_integer_seq<LanesOf, int, N>;
#else
template <int N> using first = Lanes<__integer_pack(N)...>;
#endif

template <class V> INLINE V load(const void *at) { V v; memcpy(&v, at, sizeof v); return v; }
template <class V> INLINE void store(void *at, V v) { memcpy(at, &v, sizeof v); }
// The smaller and the larger of two lanes, b where one is NaN. GCC 12 makes a comparison and a selection of most of them.
template <class V> INLINE V smaller(V a, V b) {
#if defined(__SSE2__) && !defined(__clang__)
    if constexpr (__is_same(V, vec<float, lanes_of<V>>)) {
#if defined(__AVX512F__)
        if constexpr (sizeof(V) == 64) return (V)_mm512_min_ps((__m512)a, (__m512)b);
#endif
#if defined(__AVX2__)
        if constexpr (sizeof(V) == 32) return (V)_mm256_min_ps((__m256)a, (__m256)b);
#endif
        if constexpr (sizeof(V) == 16) return (V)_mm_min_ps((__m128)a, (__m128)b);
    }
#endif
    return a < b ? a : b;
}
template <class V> INLINE V larger(V a, V b) {
#if defined(__SSE2__) && !defined(__clang__)
    if constexpr (__is_same(V, vec<float, lanes_of<V>>)) {
#if defined(__AVX512F__)
        if constexpr (sizeof(V) == 64) return (V)_mm512_max_ps((__m512)a, (__m512)b);
#endif
#if defined(__AVX2__)
        if constexpr (sizeof(V) == 32) return (V)_mm256_max_ps((__m256)a, (__m256)b);
#endif
        if constexpr (sizeof(V) == 16) return (V)_mm_max_ps((__m128)a, (__m128)b);
    }
#endif
    return a > b ? a : b;
}
template <class V, class T> INLINE V splat(T value) { return V{} + value; }  // T: the type of a lane

template <class V, int... I> INLINE V iota(Lanes<I...>) { return V{I...}; }
template <class V> INLINE V iota() { return iota<V>(first<lanes_of<V>>{}); }

// The lanes of `here` one place up, `before` ending in the place that is left; and one place down. For bytes and 16 bits
// of 64 bytes, AVX-512 without VBMI has no single shuffle: whole words are moved across quarters, then lanes in each.
template <class V, int... I> INLINE V up(V before, V here, Lanes<I...>) {
    return __builtin_shufflevector(before, here, (lanes_of<V> - 1 + I)...);
}
template <class V> INLINE V up(V before, V here) {
#if defined(__AVX512BW__) && !defined(__AVX512VBMI__)
    if constexpr (sizeof(V) == 64) {
        const __m512i earlier = _mm512_alignr_epi64((__m512i)here, (__m512i)before, 6);
        return (V)_mm512_alignr_epi8((__m512i)here, earlier, 16 - sizeof(V{}[0]));
    }
#endif
    return up(before, here, first<lanes_of<V>>{});
}
template <class V, int... I> INLINE V down(V here, V after, Lanes<I...>) {
    return __builtin_shufflevector(here, after, (1 + I)...);
}
template <class V> INLINE V down(V here, V after) {
#if defined(__AVX512BW__) && !defined(__AVX512VBMI__)
    if constexpr (sizeof(V) == 64) {
        const __m512i later = _mm512_alignr_epi64((__m512i)after, (__m512i)here, 2);
        return (V)_mm512_alignr_epi8(later, (__m512i)here, sizeof(V{}[0]));
    }
#endif
    return down(here, after, first<lanes_of<V>>{});
}

// Lanes a0 b0 a1 b1 ... of two vectors, from number FROM of each on.
template <int FROM, class V, int... I> INLINE V interleaved(V a, V b, Lanes<I...>) {
    return __builtin_shufflevector(a, b, (FROM + I / 2 + I % 2 * lanes_of<V>)...);
}
template <class V> INLINE V interleaved_low(V a, V b) { return interleaved<0>(a, b, first<lanes_of<V>>{}); }
template <class V> INLINE V interleaved_high(V a, V b) {
    return interleaved<lanes_of<V> / 2>(a, b, first<lanes_of<V>>{});
}

template <int FROM, class V, int... I> INLINE auto part(V v, Lanes<I...>) {
    return __builtin_shufflevector(v, v, (FROM + I)...);
}

// a + b, at most the largest number of the type.
template <class V> INLINE V add_saturated(V a, V b) {
#if defined(__clang__)
    return __builtin_elementwise_add_sat(a, b);
#else
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64)
        return sizeof(a[0]) == 1 ? (V)_mm512_adds_epu8((__m512i)a, (__m512i)b) : (V)_mm512_adds_epu16((__m512i)a, (__m512i)b);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32)
        return sizeof(a[0]) == 1 ? (V)_mm256_adds_epu8((__m256i)a, (__m256i)b) : (V)_mm256_adds_epu16((__m256i)a, (__m256i)b);
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(V) == 16)
        return sizeof(a[0]) == 1 ? (V)_mm_adds_epu8((__m128i)a, (__m128i)b) : (V)_mm_adds_epu16((__m128i)a, (__m128i)b);
#endif
    return smaller(a, (V)~b) + b;
#endif
}

// The smallest lane.
template <class V> INLINE auto smallest(V v) {
    if constexpr (sizeof(V) > 16) {
        constexpr int half = lanes_of<V> / 2;
        return smallest(smaller(part<0>(v, first<half>{}), part<half>(v, first<half>{})));
    } else {
#if defined(__SSE4_1__)
        if constexpr (lanes_of<V> == 16)
            return (uint8_t)_mm_cvtsi128_si32(
                _mm_minpos_epu16(_mm_min_epu8((__m128i)v, _mm_srli_epi16((__m128i)v, 8))));
        else
            return (uint16_t)_mm_cvtsi128_si32(_mm_minpos_epu16((__m128i)v));
#elif defined(__aarch64__)
        if constexpr (lanes_of<V> == 16)
            return vminvq_u8((uint8x16_t)v);
        else
            return vminvq_u16((uint16x8_t)v);
#else
        auto least = v[0];
        for (int i = 1; i < lanes_of<V>; i++) least = v[i] < least ? v[i] : least;
        return least;
#endif
    }
}

// The number of bits that are set in every byte.
template <class V> INLINE V bits(V v) {
#if defined(__AVX512BITALG__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_popcnt_epi8((__m512i)v);
    if constexpr (sizeof(V) == 32) return (V)_mm256_popcnt_epi8((__m256i)v);
#elif defined(__aarch64__)
    if constexpr (sizeof(V) == 16) return (V)vcntq_u8((uint8x16_t)v);
#elif defined(__SSSE3__)
    const __m128i four = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const V low = v & 15, high = (V)((vec<uint16_t, sizeof(V) / 2>)v >> 4) & 15;
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64) {
        const __m512i table = _mm512_broadcast_i32x4(four);
        return (V)_mm512_shuffle_epi8(table, (__m512i)low) + (V)_mm512_shuffle_epi8(table, (__m512i)high);
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) {
        const __m256i table = _mm256_broadcastsi128_si256(four);
        return (V)_mm256_shuffle_epi8(table, (__m256i)low) + (V)_mm256_shuffle_epi8(table, (__m256i)high);
    }
#endif
    if constexpr (sizeof(V) == 16)
        return (V)_mm_shuffle_epi8(four, (__m128i)low) + (V)_mm_shuffle_epi8(four, (__m128i)high);
#endif
    v = v - (v >> 1 & 0x55);
    v = (v & 0x33) + (v >> 2 & 0x33);
    return (v + (v >> 4)) & 15;
}

// Write around the cache, to an address that the vector's size divides.
template <class V> INLINE void store_around(void *at, V v) {
#if defined(__clang__)
    __builtin_nontemporal_store(v, (V *)at);
#elif defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) _mm512_stream_si512((__m512i *)at, (__m512i)v);
    else _mm256_stream_si256((__m256i *)at, (__m256i)v);
#elif defined(__AVX__)
    if constexpr (sizeof(V) == 32) _mm256_stream_si256((__m256i *)at, (__m256i)v);
    else _mm_stream_si128((__m128i *)at, (__m128i)v);
#elif defined(__SSE2__)
    _mm_stream_si128((__m128i *)at, (__m128i)v);
#else
    store(at, v);
#endif
}

// Whether any lane of a comparison holds.
template <class M> INLINE bool any(M mask) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(M) == 64 && sizeof(mask[0]) == 2) return _mm512_movepi16_mask((__m512i)mask) != 0;
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(M) == 32) return _mm256_movemask_epi8((__m256i)mask) != 0;
#endif
    vec<int64_t, sizeof(M) / 8> words = (vec<int64_t, sizeof(M) / 8>)mask;
    int64_t all = 0;
    for (int i = 0; i < (int)sizeof(M) / 8; i++) all |= words[i];
    return all != 0;
}

// All lanes of one vector, then all of another.
template <class V, int... I> INLINE auto joined(V a, V b, Lanes<I...>) { return __builtin_shufflevector(a, b, I...); }
template <class V> INLINE auto joined(V a, V b) { return joined(a, b, first<2 * lanes_of<V>>{}); }

// Lanes of two vectors by fours: number A of the four of `a`, B of `a`, C of `b`, D of `b`.
template <int A, int B, int C, int D, class V, int... I> INLINE V by_fours(V a, V b, Lanes<I...>) {
    return __builtin_shufflevector(
        a, b, (I / 4 * 4 + (I % 4 == 0 ? A : I % 4 == 1 ? B : I % 4 == 2 ? C + lanes_of<V> : D + lanes_of<V>))...);
}
template <int A, int B, int C, int D, class V> INLINE V by_fours(V a, V b) {
    return by_fours<A, B, C, D>(a, b, first<lanes_of<V>>{});
}

// The lanes of `yes` where `mask` is all ones, and of `no` where it is 0: written with
// bits because GCC 12 computes a comparison again for each selection that uses it.
template <class V> INLINE V chosen(V mask, V yes, V no) { return (yes & mask) | (no & ~mask); }

// The lanes of a vector of doubles whose bit is set, from the lowest on, and 0 in the others.
template <class V> INLINE V kept(V v, uint32_t bits) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_maskz_mov_pd((__mmask8)bits, (__m512d)v);
#endif
    typedef vec<int64_t, lanes_of<V>> Mask;
    const Mask bit = splat<Mask>((int64_t)1) << iota<Mask>();
    return (V)((Mask)v & (Mask)((splat<Mask>((int64_t)bits) & bit) == bit));
}

// As many lanes as Wide has, from numbers of fewer bytes.
template <class Wide, class T> INLINE Wide widened(const T *at) {
    constexpr int count = lanes_of<Wide>;
#if defined(__AVX512F__)
    if constexpr (count == 16 && sizeof(T) == 1) return (Wide)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)at));
    if constexpr (count == 16 && sizeof(T) == 2) return (Wide)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)at));
#endif
#if defined(__AVX2__)
    if constexpr (count == 8 && sizeof(T) == 1) return (Wide)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)at));
    if constexpr (count == 8 && sizeof(T) == 2) return (Wide)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)at));
#endif
    return __builtin_convertvector(load<vec<T, count>>(at), Wide);
}

// Every second lane of two vectors, from number FROM on.
template <int FROM, class V, int... I> INLINE V every_second(V a, V b, Lanes<I...>) {
    return __builtin_shufflevector(a, b, (FROM + 2 * I)...);
}
template <int FROM, class V> INLINE V every_second(V a, V b) { return every_second<FROM>(a, b, first<lanes_of<V>>{}); }

// Write the lower halves of 32-bit numbers below 65536.
template <class V> INLINE void store_narrow(uint16_t *at, V v) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return _mm256_storeu_si256((__m256i *)at, _mm512_cvtepi32_epi16((__m512i)v));
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) {
        const __m256i pairs = _mm256_packus_epi32((__m256i)v, (__m256i)v);
        return _mm_storeu_si128((__m128i *)at, _mm256_castsi256_si128(_mm256_permute4x64_epi64(pairs, 0xD8)));
    }
#endif
#if defined(__SSE4_1__)
    if constexpr (sizeof(V) == 16) return _mm_storel_epi64((__m128i *)at, _mm_packus_epi32((__m128i)v, (__m128i)v));
#endif
    store(at, __builtin_convertvector(v, vec<uint16_t, lanes_of<V>>));
}

// For every lane, the byte of a table of 16, which is repeated in the whole vector.
#if defined(__SSSE3__) || defined(__aarch64__)
constexpr bool LOOKS_UP_BYTES = true;
#else
constexpr bool LOOKS_UP_BYTES = false;
#endif
template <class V> INLINE V looked_up(V table, V index) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_shuffle_epi8((__m512i)table, (__m512i)index);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) return (V)_mm256_shuffle_epi8((__m256i)table, (__m256i)index);
#endif
#if defined(__SSSE3__)
    if constexpr (sizeof(V) == 16) return (V)_mm_shuffle_epi8((__m128i)table, (__m128i)index);
#elif defined(__aarch64__)
    if constexpr (sizeof(V) == 16) return (V)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)index);
#endif
    return index;
}

// A bit for every byte of a comparison that holds.
template <class M> INLINE uint64_t mask_bits(M mask) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(M) == 64) return _mm512_movepi8_mask((__m512i)mask);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(M) == 32) return (uint32_t)_mm256_movemask_epi8((__m256i)mask);
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(M) == 16) return (uint32_t)_mm_movemask_epi8((__m128i)mask);
#endif
    uint64_t found = 0;
    for (int i = 0; i < (int)sizeof(M); i++) found |= (uint64_t)(mask[i] != 0) << i;
    return found;
}

// Single-precision numbers in double precision: GCC 12 converts four of them by way of memory.
template <class V> INLINE V doubles(const float *at) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_cvtps_pd(_mm256_loadu_ps(at));
#endif
#if defined(__AVX__)
    if constexpr (sizeof(V) == 32) return (V)_mm256_cvtps_pd(_mm_loadu_ps(at));
#endif
    return __builtin_convertvector(load<vec<float, lanes_of<V>>>(at), V);
}

// a b + c, rounded once where the processor can.
template <class V> INLINE V fused(V a, V b, V c) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#endif
#if defined(__FMA__)
    if constexpr (sizeof(V) == 32) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    if constexpr (sizeof(V) == 16) return (V)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#endif
    return a * b + c;
}

// A table of 32 numbers in two registers, where the processor finds an entry with one instruction.
#if defined(__AVX512F__)
constexpr bool LOOKS_UP = true;
struct Table {
    __m512 low, high;
    explicit Table(const float *at) : low(_mm512_loadu_ps(at)), high(_mm512_loadu_ps(at + 16)) {}
    vec<float, 16> entry(vec<uint32_t, 16> index) const {  // its number modulo 32
        return (vec<float, 16>)_mm512_permutex2var_ps(low, (__m512i)index, high);
    }
};
#else
constexpr bool LOOKS_UP = false;
struct Table {
    explicit Table(const float *) {}
    template <class V> V entry(V index) const { return index; }
};
#endif
