// Which level the processor can run (names as in hatch_build.py), which ones this library holds, and what compiled it.
#include "kernel.h"

EXPORT const char *levels() { return SG_LEVELS; }

#if defined(__x86_64__)
#include <cpuid.h>

static bool bit(unsigned word, int number) { return word >> number & 1; }

EXPORT const char *level() {
    unsigned a, b, c, d, b7, c7, d7, enabled = 0, high;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return "v2";
    if (bit(c, 27)) __asm__("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    const bool ymm = (enabled & 6) == 6, zmm = ymm && (enabled & 0xE0) == 0xE0, fma = bit(c, 12), half = bit(c, 29);
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return "v2";
    if (!(ymm && fma && half && bit(b7, 5) && bit(b7, 3) && bit(b7, 8))) return "v2";  // AVX2, BMI, BMI2
    if (!(zmm && bit(b7, 16) && bit(b7, 17) && bit(b7, 28) && bit(b7, 30) && bit(b7, 31))) return "v3";  // F DQ CD BW VL
    return bit(c7, 1) && bit(c7, 12) ? "v4b" : "v4";  // VBMI, BITALG: Ice Lake, Zen 4
}
#else
EXPORT const char *level() { return "base"; }
#endif

#if defined(__clang__)
EXPORT const char *compiler() { return "Clang " __clang_version__; }
#else
EXPORT const char *compiler() { return "GCC " __VERSION__; }
#endif
