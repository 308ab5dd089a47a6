// One pass over estimate and truth that yields every pixel-wise sum, and the histogram of |e|, by slot.
//
// Slot: the combination of regions that a pixel belongs to (masks/labels.py). A row goes through three stages over
// scratch rows that stay in the cache: errors and histogram entries (vectors of single precision); depth errors
// together with the histogram, so that divisions run while increments wait for memory; and sums of groups of eight
// neighbours (masks/groups.py), one sum per pixel of a group, so that the order of additions does not depend on the
// width of registers.
//
// The histogram is over the bits of the float |e| less a guard: 64 bins per octave, open below and closed above, so that
// "more than t" is exact for every t with at most six fractional bits in its mantissa (0.5, 1, 1.5, 2, 3, ...).
// A fine key also tells which of 32 parts of its bin an error is in.
#include "lanes.h"

constexpr int LANES = REGISTER / 4, LINE = 16, GROUP = 8, SUMS = 5;
constexpr int BIN_SHIFT = 17, PART_BITS = 5, LOWEST_EXPONENT = 127 - 12, OCTAVES = 26;
constexpr uint32_t BINS = OCTAVES * 64 + 1, IGNORED_KEY = 2 * BINS + 1, KEYS = 2 * BINS + 2;
constexpr uint32_t FINE_IGNORED = (BINS << PART_BITS) + 1;
constexpr uint32_t FIRST_BITS = ((uint32_t)LOWEST_EXPONENT << 23) + 1, LAST_BITS = FIRST_BITS + ((uint32_t)OCTAVES << 23);
constexpr float GUARD = 1e-6f, D1_PIXELS = 3, D1_SHARE = 20;
constexpr int PER = REGISTER / 8, PARTS = GROUP / PER;
typedef vec<float, LANES> Real;
typedef vec<uint32_t, LANES> Word;
typedef vec<double, PER> Double;
typedef vec<int64_t, PER> Mask;

INLINE Double magnitude_of(Double v) { return (Double)((Mask)v & INT64_MAX); }
INLINE Real magnitude_of(Real v) { return (Real)((Word)v & 0x7FFFFFFFu); }

struct Scale {  // disparities that depth errors are decided by; see DepthScale in metrics/
    float behind, near, far, middle;
    bool charge;
};

template <class Slot> struct Rows {  // one row of the maps, and scratch rows of whole lines of the cache
    const float *estimate, *truth;
    const Slot *slots;
    float *errors, *shares, *used, *safe;
    uint32_t *entries;
    uint16_t *keys;
};

// Whether a row has a true disparity of 0, and a disparity whose point is not in front of the cameras; its largest slot.
struct Special {
    bool zero, behind;
    uint32_t slot;
};

// Errors, relative errors, histogram entries and fine keys of a row of at least LANES pixels; with DEPTH also the two
// disparities between which a depth error is measured. The last vector overlaps the one before it.
template <class Slot, bool DEPTH> static Special error_row(const Rows<Slot> r, const Scale s, int64_t width) {
    const Real zero = {}, behind = splat<Real>(s.behind), near = splat<Real>(s.near), far = splat<Real>(s.far);
    const Real middle = splat<Real>(s.middle);
    const Word charged = splat<Word>(s.charge ? ~0u : 0u), outlier = splat<Word>(BINS);
    const Real first_size = (Real)splat<Word>(FIRST_BITS), last_size = (Real)splat<Word>(LAST_BITS);
    Real least = splat<Real>(__builtin_inff()), least_of_both = least;
    Word highest = {};
    for (int64_t start = 0; start < width; start += LANES) {
        const int64_t x = start < width - LANES ? start : width - LANES;
        const Real e = load<Real>(r.estimate + x), d = load<Real>(r.truth + x), magnitude = magnitude_of(d);
        least = smaller(magnitude, least);
        least_of_both = smaller(smaller(e, d), least_of_both);
        const Real difference = e - d;
        const Word known = (Word)(d == d), both = (Word)(difference == difference);
        const Real error = (Real)((Word)difference & both), size = magnitude_of(error), guarded = size - GUARD;
        const Word fine = ((Word)smaller(larger(guarded, first_size), last_size) - FIRST_BITS) >> (BIN_SHIFT - PART_BITS);
        // |e| > 3 and 20 |e| > D at once: 60 is exact, and so is the comparison with it.
        const Word d1 = guarded * D1_SHARE > larger(magnitude, zero + D1_SHARE * D1_PIXELS) ? outlier : Word{};
        const Word key = (fine >> PART_BITS) + d1;
        // known is -1 where there is a truth: such pixels are missing, the others ignored.
        const Word entry = chosen(both, key, known + IGNORED_KEY), slot = widened<Word>(r.slots + x);
        highest = larger(highest, slot);
        store(r.errors + x, error);
        store(r.shares + x, magnitude > zero ? size / magnitude : zero);
        store(r.entries + x, entry + slot * KEYS);
        store_narrow(r.keys + x, chosen(both, fine, known + FINE_IGNORED));
        if constexpr (DEPTH) {
            // What a missing depth is taken as: the worst, or the truth where it is not charged.
            const Real worst = (Real)chosen(charged, (Word)(d <= middle ? near : far), (Word)d);
            store(r.used + x, d > behind ? (e > behind ? e : worst) : near);
            store(r.safe + x, d > behind ? d : near);
        }
    }
    Special special = {any(least <= zero), any(least_of_both <= behind), 0};
    for (int i = 0; i < LANES; i++) special.slot = highest[i] > special.slot ? highest[i] : special.slot;
    return special;
}

// |Z_D - Z_E| / fB of 16 pixels, Z being fB / (disparity + shift).
INLINE void depth_line(const float *used, const float *safe, double shift, double *depth) {
    for (int i = 0; i < LINE; i += PER) {
        const Double e = doubles<Double>(used + i);
        const Double d = doubles<Double>(safe + i);
        store(depth + i, magnitude_of(e - d) / ((e + shift) * (d + shift)));
    }
}

// Add e, |e|, e^2, |e|/|D| and the depth error of some groups of eight pixels to eight sums each. A group is its number
// in the row * 256 + a bit for each pixel that counts, which is all of them in a whole group. Sums stay in registers.
template <bool DEPTH, bool WHOLE>
static void add_groups(const float *errors, const float *shares, const double *depth, const uint32_t *group,
                       const uint32_t *end, double *sums) {
    constexpr int COUNT = DEPTH ? 5 : 4;
    Double totals[COUNT][PARTS];
#pragma GCC unroll 5
    for (int k = 0; k < COUNT; k++)
#pragma GCC unroll 4
        for (int part = 0; part < PARTS; part++) totals[k][part] = load<Double>(sums + GROUP * k + PER * part);
    for (; group < end; group++) {
        const int64_t x = (int64_t)(*group >> 8) * GROUP;
#pragma GCC unroll 4
        for (int part = 0; part < PARTS; part++) {
            const int64_t at = x + PER * part;
            Double error = doubles<Double>(errors + at);
            Double share = doubles<Double>(shares + at);
            const uint32_t members = (*group & 255) >> (PER * part);
            if constexpr (!WHOLE) {
                error = kept(error, members);
                share = kept(share, members);
            }
            totals[0][part] += error;
            totals[1][part] += magnitude_of(error);
            totals[2][part] += error * error;  // exact in double precision
            totals[3][part] += share;
            if constexpr (DEPTH) {
                const Double own = load<Double>(depth + at);
                totals[4][part] += WHOLE ? own : kept(own, members);
            }
        }
    }
#pragma GCC unroll 5
    for (int k = 0; k < COUNT; k++)
#pragma GCC unroll 4
        for (int part = 0; part < PARTS; part++) store(sums + GROUP * k + PER * part, totals[k][part]);
}

// Whether all of some groups begin in a row.
INLINE bool inside(const uint32_t *group, const uint32_t *end, int64_t width) {
    uint32_t last = 0;
    for (; group < end; group++) last = *group > last ? *group : last;
    return (int64_t)(last >> 8) * GROUP < width;
}

template <class Slot, bool DEPTH>
static bool tally(const float *estimate, const float *truth, const Slot *slots, const int64_t *segment_rows,
                  const uint32_t *segments, const int64_t *firsts, const uint32_t *groups, double shift, Scale scale,
                  Rows<Slot> r, double *depth, uint16_t *keys, double *sums, uint32_t *histogram, bool *zero_rows,
                  bool *behind_rows, int64_t height, int64_t width, int64_t segment_count, int64_t group_count,
                  int64_t key_rows, int64_t slot_count) {
    if (height > 0 && (width < LINE || key_rows < 1)) return false;
    const int64_t whole = width - width % LINE;
    // The groups of all rows are looked at once; those of each segment must be among them.
    int64_t low = 0, high = 0;
    if (height > 0) {
        if (segment_rows[0] < 0 || segment_rows[0] > segment_count) return false;
        if (segment_rows[height] < 0 || segment_rows[height] > segment_count) return false;
        low = firsts[segment_rows[0]];
        high = firsts[segment_rows[height]];
        if (low < 0 || low > high || high > group_count || !inside(groups + low, groups + high, width)) return false;
    }
    for (int64_t y = 0; y < height; y++) {
        const int64_t at = y * width, below = (y + 1 < height ? y + 1 : y) * width;
        r.estimate = estimate + at;
        r.truth = truth + at;
        r.slots = slots + at;
        r.keys = keys + (y < key_rows ? y : key_rows - 1) * width;
        const Special special = error_row<Slot, DEPTH>(r, scale, width);
        zero_rows[y] = special.zero;
        behind_rows[y] = special.behind;
        if (special.slot >= slot_count || segment_rows[y] < 0 || segment_rows[y + 1] > segment_count) return false;
        const uint16_t *next_keys = keys + (y + 1 < key_rows ? y + 1 : key_rows - 1) * width;
        for (int64_t first = 0; first < whole; first += LINE) {
            // Maps are read once: were they kept in the cache, keys would be gone from it before they are read again.
            __builtin_prefetch(estimate + below + first, 0, 0);
            __builtin_prefetch(truth + below + first, 0, 0);
            if (first % 64 == 0) __builtin_prefetch(slots + below + first, 0, 0);
            if (first % 32 == 0) __builtin_prefetch(next_keys + first, 1, 2);
            if constexpr (DEPTH) depth_line(r.used + first, r.safe + first, shift, depth + first);
            for (int64_t x = first; x < first + LINE; x++) histogram[r.entries[x]]++;
        }
        if constexpr (DEPTH) depth_line(r.used + whole, r.safe + whole, shift, depth + whole);
        for (int64_t x = whole; x < width; x++) histogram[r.entries[x]]++;
        for (int64_t i = segment_rows[y]; i < segment_rows[y + 1]; i++) {
            const int64_t slot = segments[i] >> 1;
            if (slot >= slot_count || firsts[i] < low || firsts[i + 1] > high) return false;
            double *own = sums + slot * SUMS * GROUP;
            const uint32_t *from = groups + firsts[i], *to = groups + firsts[i + 1];
            if (segments[i] & 1) add_groups<DEPTH, false>(r.errors, r.shares, depth, from, to, own);
            else add_groups<DEPTH, true>(r.errors, r.shares, depth, from, to, own);
        }
    }
    return true;
}

// Sums (slot, sum, pixel of a group), histogram (slot, key) and fine keys of all pixels; `depth` may be null. `keys` has
// a row for each of the maps, or one for all. Rows of scratch have room for `width` rounded up to whole lines and one more.
#define TALLY(name, Slot)                                                                                              \
    EXPORT bool SG(name)(                                                                                              \
        const float *estimate, const float *truth, const Slot *slots, const int64_t *segment_rows,                     \
        const uint32_t *segments, const int64_t *firsts, const uint32_t *groups, double shift, float behind,           \
        float near, float far, float middle, bool charge, float *errors, float *shares, double *depth, float *used,    \
        float *safe, uint32_t *entries, uint16_t *keys, double *sums, uint32_t *histogram, bool *zero_rows,            \
        bool *behind_rows, int64_t height, int64_t width, int64_t segment_count, int64_t group_count,                  \
        int64_t key_rows, int64_t slot_count) {                                                                        \
        const Scale scale = {behind, near, far, middle, charge};                                                       \
        const Rows<Slot> rows = {nullptr, nullptr, nullptr, errors, shares, used, safe, entries, nullptr};             \
        return (depth ? tally<Slot, true> : tally<Slot, false>)(                                                       \
            estimate, truth, slots, segment_rows, segments, firsts, groups, shift, scale, rows, depth, keys, sums,     \
            histogram, zero_rows, behind_rows, height, width, segment_count, group_count, key_rows, slot_count);       \
    }                                                                                                                  \
    KERNEL(name)
TALLY(tally_errors_u8, uint8_t)
TALLY(tally_errors_u16, uint16_t)

// Count by slot, in rows that are `special`: D = 0; of these, without an estimate; truth not in front of the cameras;
// of these, without an estimate; estimate not in front of the cameras although the truth is.
template <class Slot>
static bool exclusions(const float *estimate, const float *truth, const Slot *slots, double offset, const bool *special,
                       int64_t *counts, int64_t height, int64_t width, int64_t slot_count) {
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = special[y] ? 0 : width; x < width; x++) {
            const int64_t i = y * width + x;
            if (slots[i] >= slot_count) return false;
            const float e = estimate[i], d = truth[i];
            const bool zero = d == 0, truth_behind = (double)d + offset <= 0, missing = e != e;
            const bool estimate_behind = (double)e + offset <= 0 && d == d;
            if (!(zero || truth_behind || estimate_behind)) continue;  // as nearly all, even in these rows
            int64_t *own = counts + (int64_t)slots[i] * 5;
            own[0] += zero;
            own[1] += zero && missing;
            own[2] += truth_behind;
            own[3] += truth_behind && missing;
            own[4] += estimate_behind && !truth_behind;
        }
    return true;
}

// The Sigma-Z-Error as printed, by slot: |fB/(D + mu) - fB/(E + mu)| over all known D. A missing E is taken as 0, or
// contributes nothing where it is not charged.
template <class Slot>
static bool literal(const float *estimate, const float *truth, const Slot *slots, double focal_baseline, double mu,
                    bool charge, double *sums, int64_t pixels, int64_t slot_count) {
    for (int64_t i = 0; i < pixels; i++) {
        if (slots[i] >= slot_count) return false;
        const double d = truth[i], e = estimate[i];
        if (d != d || (e != e && !charge)) continue;
        sums[slots[i]] += fabs(focal_baseline / (d + mu) - focal_baseline / ((e != e ? 0.0 : e) + mu));
    }
    return true;
}

#define BY_SLOT(bits)                                                                                                  \
    EXPORT bool SG(count_exclusions_u##bits)(const float *estimate, const float *truth, const uint##bits##_t *slots,   \
                                             double offset, const bool *special, int64_t *counts, int64_t height,      \
                                             int64_t width, int64_t slot_count) {                                      \
        return exclusions(estimate, truth, slots, offset, special, counts, height, width, slot_count);                 \
    }                                                                                                                  \
    KERNEL(count_exclusions_u##bits)                                                                                   \
    EXPORT bool SG(literal_depth_u##bits)(const float *estimate, const float *truth, const uint##bits##_t *slots,      \
                                          double focal_baseline, double mu, bool charge, double *sums, int64_t height, \
                                          int64_t width, int64_t slot_count) {                                         \
        return literal(estimate, truth, slots, focal_baseline, mu, charge, sums, height * width, slot_count);          \
    }                                                                                                                  \
    KERNEL(literal_depth_u##bits)
BY_SLOT(8)
BY_SLOT(16)
