// What every source shares: exported names, and the signature by which Python checks its declaration of a function.
//
// A source is compiled once per processor level; SG(name) ends in the level. Functions that Python calls are written
//
//     EXPORT void SG(fill_rows)(const float *map, float *filled, int64_t height, int64_t width) { ... }
//     KERNEL(fill_rows)
//
// and declared in kernels/*.py. They allocate nothing, throw nothing, and take sizes as int64_t.
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

#define SG_JOIN(name, level) name##_##level
#define SG_NAMED(name, level) SG_JOIN(name, level)
#define SG(name) SG_NAMED(name, SG_LEVEL)
#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif
#define INLINE static inline __attribute__((always_inline))

// Three characters per type: r or w for a pointer that is read or written, v for a value; kind and size as in NumPy.
struct TypeCode {
    char access, kind, size;
};

template <class T> constexpr TypeCode type_code() {
    using Target = std::remove_pointer_t<T>;
    using Plain = std::remove_cv_t<Target>;
    constexpr char access = !std::is_pointer_v<T> ? 'v' : std::is_const_v<Target> ? 'r' : 'w';
    if constexpr (std::is_void_v<Plain>) return {access, '-', '-'};
    else
        return {access,
                std::is_same_v<Plain, bool>          ? 'b'
                : std::is_floating_point_v<Plain> ? 'f'
                : std::is_signed_v<Plain>         ? 'i'
                                                  : 'u',
                (char)('0' + sizeof(Plain))};
}

template <class Result, class... Arguments> struct Signature {
    static constexpr TypeCode codes[] = {type_code<Result>(), type_code<Arguments>()..., {0, 0, 0}};
};
template <class Result, class... Arguments> const char *signature_of(Result (*)(Arguments...)) {
    return &Signature<Result, Arguments...>::codes[0].access;
}

#define KERNEL(name)                                                                                                 \
    EXPORT const char *SG_NAMED(name##_signature, SG_LEVEL)() { return signature_of(&SG(name)); }
