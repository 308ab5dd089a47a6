// Sweeps of semi-global matching: path costs in rolling rows, their sums in one volume.
//
//     L(d) = C(d) + min(L'(d), L'(d - 1) + P1, L'(d + 1) + P1, min L' + P2) - min L'
//
// L' are a path's costs at its previous pixel, C(d) the number of bits in which the census codes of a left pixel and of
// its partner at disparity d differ; all bits where the partner lies outside the image.
//
// A sweep visits rows from the top, or, reversed in both axes, from the bottom. It has up to four paths: along the row,
// from the previous row, and from its two diagonal neighbours. Path costs at a pixel are in a slot of `padded` numbers;
// those from `ndisp` on are the largest number of the type, and additions saturate, so that a disparity outside the
// range never wins. The path along the row has one slot, the others one per column, which are updated in place: a
// diagonal path has the slot (column -+ row) mod width, which is constant along a diagonal.
//
// Path costs are bytes where census bits + P2 < 255, else 16 bits. Sums of bytes are kept as those of even and of odd
// disparities, so that widening needs no shuffle. The first sweep over a row writes them so into the volume, with the
// matching cost, at most 62, in the upper six bits, and the second one neither computes costs again nor needs the
// codes; it writes the sums in the order of disparities and finds the winners while the sums are in registers.
#include "lanes.h"

enum Mode { FORGET, WRITE, DECIDE, DECIDE_BOTH };  // numbers as in kernels/sgm.py
enum Method { WHOLE, PARABOLA, V_FIT };
constexpr int SUM_BITS = 10;
constexpr int64_t AHEAD = 1024;      // sums that are fetched ahead: the processor does not foresee a sweep that goes back
constexpr uint16_t NO_COST = 65534;  // of a right pixel without a winner; one below the largest number, so it can grow

// The winners of one view (height, width): whole disparity, refined disparity, and the winner's aggregated cost.
struct View {
    uint16_t *winners;
    float *disparity;
    uint16_t *minimum;
};

template <class T> struct Sweep {
    const uint8_t *left, *right;  // codes (bytes, height, width) and (bytes, height, width + padded), columns reversed
    const uint8_t *guide;         // left image (height, width)
    const T *large;               // P2 by |step of the guide|, 256 of them
    const T *unused;              // (padded): 0 in the range of disparities, the largest number after it
    const uint8_t *outside;       // (width + padded): 0 in the reversed right row, the cost of leaving the image after it
    T *along, *slots, *minima;    // state of the paths: (padded), (others, width, padded), (others, width)
    T *penalties;                 // P2 of the row (4, width); this and what follows is memory for one row
    uint32_t *keys;               // (width): lowest cost << 16 | its smallest disparity
    uint16_t *right_costs, *right_disparities;  // (width + padded): lowest cost of right pixels from the right, its d
    uint16_t *row;                              // (width, padded) for sums that are not kept, else NULL
    uint16_t *volume;                           // (rows, width, padded), begins with row `first_row`
    View found, found_right;
    int64_t ndisp, bytes, height, width, padded, others, first_row;
    T small;
    bool adapted, downward;
    int method;

    T *path(int i, int64_t slot) const { return i ? slots + ((i - 1) * width + slot) * padded : along; }
};

// P2 between each pixel of row y and the one before it on each path; where a path begins, P2 has no effect.
template <class T> static void row_penalties(const Sweep<T> &s, int64_t y) {
    const int64_t sign = s.downward ? 1 : -1, shifts[4] = {-sign, 0, -sign, sign};
    for (int i = 0; i <= s.others; i++) {
        const int64_t before = i ? y - sign : y, shift = shifts[i];
        if (before < 0 || before >= s.height) continue;
        const uint8_t *here = s.guide + y * s.width, *there = s.guide + before * s.width;
        T *found = s.penalties + i * s.width;
        for (int64_t x = 0; x < s.width; x++)
            if (x + shift >= 0 && x + shift < s.width) {
                const int step = here[x] - there[x + shift];
                found[x] = s.large[step < 0 ? -step : step];
            }
    }
}

// What all pixels of a row share, and where the current one is: a local copy, so that the compiler knows that storing
// bytes does not change it.
template <class T, int PATHS> struct Place {
    T *slots[PATHS], *minima[PATHS];
    const T *large[PATHS], *unused;
    const uint8_t *left, *right, *outside;
    uint16_t *volume, *sums, *right_costs, *right_disparities;
    int64_t left_size, right_size, padded, bytes, ahead;
    uint16_t later;
    T small;
};

template <class T, int N, int BYTES, class P> INLINE vec<T, N> matching_cost(const P &p, int64_t d) {
    typedef vec<uint8_t, N> Codes;
    Codes cost = {};
#pragma GCC unroll 6
    for (int k = 0; k < (BYTES ? BYTES : p.bytes); k++)
        cost += bits(load<Codes>(p.right + k * p.right_size + d) ^ (Codes{} + p.left[k * p.left_size]));
    cost = larger(cost, load<Codes>(p.outside + d));
    return larger(__builtin_convertvector(cost, vec<T, N>), load<vec<T, N>>(p.unused + d));
}

// What is known of a pixel after some of its disparities, N at a time.
template <class T, int N, int PATHS> struct Running {
    typedef vec<T, N> V;
    typedef vec<uint16_t, N * sizeof(T) / 2> S;
    V base[PATHS], large[PATHS], before[PATHS], lowest[PATHS];
    S best, best_at;

    template <class P> static inline __attribute__((always_inline)) Running begin(const P &p, T along) {
        Running r;
        for (int i = 0; i < PATHS; i++) {
            r.base[i] = splat<V, T>(i ? *p.minima[i] : along);
            r.large[i] = splat<V, T>(*p.large[i]);
            r.before[i] = r.lowest[i] = ~V{};
        }
        r.best = ~S{};
        r.best_at = S{};
        return r;
    }
    // The lowest cost << 16 | its smallest disparity.
    inline __attribute__((always_inline)) uint32_t key() const {
        const uint16_t least = smallest(best);
        return (uint32_t)least << 16 | smallest((S)(best == least ? best_at : ~S{}));
    }
};

// N disparities of a pixel from d on: costs, paths, their sums, and in the modes that decide the lowest sums.
template <class T, int N, Mode MODE, int PATHS, int BYTES, int LENGTH>
INLINE void block(const Place<T, PATHS> &p, int64_t d, Running<T, N, PATHS> &r) {
    typedef vec<T, N> V;
    typedef typename Running<T, N, PATHS>::S S;
    constexpr bool packed = sizeof(T) == 1;
    constexpr int per_sum = lanes_of<S>, parts = N / per_sum, first_path = MODE == FORGET ? 1 : 0;
    uint16_t *const there = MODE == FORGET ? NULL : p.volume + d;
    S sums[2] = {};
    V cost;
    if constexpr (MODE >= DECIDE) {
        for (int k = 0; k < parts; k++) {
            sums[k] = load<S>(there + k * per_sum);
            __builtin_prefetch(there + p.ahead + k * per_sum, 0);
        }
    }
    if constexpr (MODE >= DECIDE && packed) {
        cost = (V)(sums[0] >> SUM_BITS | (sums[1] >> 2 & 0x3F00));
        cost = larger(cost, load<V>(p.unused + d));
        for (S &sum : sums) sum &= (1 << SUM_BITS) - 1;
    } else {
        cost = matching_cost<T, N, BYTES>(p, d);
    }
    const V most = ~V{}, small = V{} + p.small;
#pragma GCC unroll 4
    for (int i = first_path; i < PATHS; i++) {
        const V here = load<V>(p.slots[i] + d);
        const bool last = d + N >= (LENGTH ? LENGTH : p.padded);
        const V after = last ? most : load<V>(p.slots[i] + d + N);
        const V step = add_saturated(smaller(up(r.before[i], here), down(here, after)), small);
        const V path = add_saturated(smaller((V)(smaller(here, step) - r.base[i]), r.large[i]), cost);
        store(p.slots[i] + d, path);
        r.before[i] = here;
        r.lowest[i] = smaller(r.lowest[i], path);
        if constexpr (packed) {
            sums[0] += (S)path & 0xFF;
            sums[1] += (S)path >> 8;
        } else {
            sums[0] += (S)path;
        }
    }
    if constexpr (MODE == WRITE) {
        if constexpr (packed) {
            sums[0] |= (S)cost << SUM_BITS;
            sums[1] |= ((S)cost & 0xFF00) << 2;
        }
        // Around the cache: a volume is too large for it, and the line need not be read first.
        for (int k = 0; k < parts; k++) store_around(there + k * per_sum, sums[k]);
    }
    if constexpr (MODE >= DECIDE) {
        if constexpr (packed) {
            const S low = interleaved_low(sums[0], sums[1]);
            sums[1] = interleaved_high(sums[0], sums[1]);
            sums[0] = low;
        }
        for (int k = 0; k < parts; k++) {
            const int64_t at = d + k * per_sum;
            const S numbers = iota<S>() + (uint16_t)at;
            store(p.sums + at, sums[k]);
            r.best_at = sums[k] < r.best ? numbers : r.best_at;
            r.best = smaller(sums[k], r.best);
            if constexpr (MODE == DECIDE_BOTH) {
                const S costs = load<S>(p.right_costs + at), known = load<S>(p.right_disparities + at);
                const S bound = costs + p.later;
                store(p.right_costs + at, (S)(sums[k] < bound ? sums[k] : costs));
                store(p.right_disparities + at, (S)(sums[k] < bound ? numbers : known));
            }
        }
    }
}

// All pixels of image row y, in the sweep's direction; `row` counts in that direction. N disparities at a time; BYTES and
// LENGTH are 0, or the number of bytes of a code and the padded number of disparities, known to the compiler.
template <class T, int N, Mode MODE, int PATHS, int BYTES, int LENGTH>
static __attribute__((noinline)) void sweep_pixels(const Sweep<T> &s, int64_t row, int64_t y, uint16_t *volume) {
    const int64_t width = s.width, padded = LENGTH ? LENGTH : s.padded;
    const int64_t slots[4] = {0, 0, (width - row % width) % width, row % width};
    // Where a path begins in this row: along the row, and where a diagonal one enters the image from the side.
    const int64_t begins[4] = {0, -1, slots[2], (row + width - 1) % width};
    for (int i = 0; i < PATHS; i++)
        if (begins[i] >= 0) {
            memset(s.path(i, begins[i]), 0, s.ndisp * sizeof(T));
            if (i) s.minima[(i - 1) * width + begins[i]] = 0;
        }
    const int64_t x = s.downward ? 0 : width - 1, step = s.downward ? 1 : -1, there = width - 1 - x;
    Place<T, PATHS> p;
    T *ends[PATHS];
    for (int i = 0; i < PATHS; i++) {
        p.slots[i] = s.path(i, slots[i]);
        p.minima[i] = i ? s.minima + (i - 1) * width + slots[i] : NULL;
        p.large[i] = s.penalties + i * width + x;
        ends[i] = i ? s.minima + i * width : NULL;
    }
    p.unused = s.unused;
    p.left = s.left + y * width + x;
    p.right = s.right + y * (width + padded) + there;
    p.outside = s.outside + there;
    p.volume = MODE == FORGET ? NULL : volume + x * padded;
    p.sums = MODE == FORGET ? NULL : (s.row ? s.row : volume) + x * padded;
    p.right_costs = s.right_costs + there;
    p.right_disparities = s.right_disparities + there;
    p.left_size = s.height * width;
    p.right_size = s.height * (width + padded);
    p.padded = padded;
    p.bytes = s.bytes;
    p.ahead = step * AHEAD;
    p.later = s.downward ? 0 : 1;  // columns from the right reach a right pixel's smaller disparities last
    p.small = s.small;
    uint32_t *keys = s.keys + x;
    T along = 0;
    for (int64_t column = 0; column < width; column++) {
        auto r = Running<T, N, PATHS>::begin(p, along);
#pragma GCC unroll 4
        for (int64_t d = 0; d < padded; d += N) block<T, N, MODE, PATHS, BYTES, LENGTH>(p, d, r);
        T minima[PATHS];  // all before the first store, which the compiler cannot move
        for (int i = MODE == FORGET ? 1 : 0; i < PATHS; i++) minima[i] = smallest(r.lowest[i]);
        const uint32_t found = MODE >= DECIDE ? r.key() : 0;
        if constexpr (MODE != FORGET) along = minima[0];
        for (int i = 1; i < PATHS; i++) {
            *p.minima[i]++ = minima[i];
            p.slots[i] += padded;
            if (p.minima[i] == ends[i]) {
                p.minima[i] -= width;
                p.slots[i] -= width * padded;
            }
        }
        if constexpr (MODE >= DECIDE) *keys = found;
        keys += step;
        for (int i = 0; i < PATHS; i++) p.large[i] += step;
        p.left += step;
        p.right -= step;
        p.outside -= step;
        p.right_costs -= step;
        p.right_disparities -= step;
        if constexpr (MODE != FORGET) {
            p.volume += step * padded;
            p.sums += step * padded;
        }
    }
}

// The usual cases have a form of their own, in which the compiler knows the bytes of a code (7 x 7 windows) and the
// padded number of disparities. Where the costs are in the volume, the bytes do not matter. Disparities that do not fill
// a whole number of the largest registers are taken 32 at a time.
template <class T, Mode MODE, int PATHS, int BYTES, int... LENGTHS>
static void sweep_row(const Sweep<T> &s, int64_t row, int64_t y, uint16_t *volume, Lanes<LENGTHS...>) {
    constexpr int N = REGISTER / sizeof(T), LEAST = N < 32 ? N : 32;
    const bool known = (... || (s.padded == LENGTHS && (sweep_pixels<T, LENGTHS % N ? LEAST : N, MODE, PATHS, BYTES,
                                                                     LENGTHS>(s, row, y, volume), true)));
    if (known) return;
    if (s.padded % N) sweep_pixels<T, LEAST, MODE, PATHS, BYTES, 0>(s, row, y, volume);
    else sweep_pixels<T, N, MODE, PATHS, BYTES, 0>(s, row, y, volume);
}
template <class T, Mode MODE, int PATHS>
static void sweep_row(const Sweep<T> &s, int64_t row, int64_t y, uint16_t *volume) {
    constexpr int BYTES = sizeof(T) == 1 && MODE >= DECIDE ? 1 : 6;
    if (BYTES != 1 && s.bytes != BYTES) sweep_row<T, MODE, PATHS, 0>(s, row, y, volume, Lanes<>{});
    else if constexpr (PATHS < 4 || MODE == FORGET) sweep_row<T, MODE, PATHS, BYTES>(s, row, y, volume, Lanes<>{});
    else if constexpr (sizeof(T) == 2) sweep_row<T, MODE, PATHS, BYTES>(s, row, y, volume, Lanes<64, 96, 128>{});
    else sweep_row<T, MODE, PATHS, BYTES>(s, row, y, volume, Lanes<32, 64, 96, 128, 192, 256>{});
}

// The offset of the minimum from the winner, in [-1/2, 1/2]; 0 where the three costs do not bend.
// Parabola through three costs: (A- - A+) / (2 (A- - 2 A0 + A+)).
// V-fit, two lines of opposite slope: (A- - A+) / (2 (max(A-, A+) - A0)).
INLINE float refined(int below, int lowest, int above, int method) {
    const int bend = method == PARABOLA ? below - 2 * lowest + above
                     : method == V_FIT  ? (below > above ? below : above) - lowest
                                        : 0;
    return bend > 0 ? (float)(below - above) / (float)(2 * bend) : 0.0f;
}

INLINE void put(const View &view, int64_t at, int64_t d, int lowest, float offset) {
    view.winners[at] = (uint16_t)d;
    view.minimum[at] = (uint16_t)lowest;
    view.disparity[at] = (float)d + offset;
}

template <class T> static void left_row(const Sweep<T> &s, const uint16_t *sums, int64_t y) {
    for (int64_t x = 0; x < s.width; x++) {
        const int64_t d = s.keys[x] & 0xFFFF;
        const int lowest = s.keys[x] >> 16;
        const uint16_t *at = sums + x * s.padded + d;
        const bool inside = d > 0 && d < s.ndisp - 1;
        put(s.found, y * s.width + x, d, lowest, inside ? refined(at[-1], lowest, at[1], s.method) : 0.0f);
    }
}

// The winner of a right pixel x has the lowest A(x + d, d); its neighbours in d are on the same diagonal.
template <class T> static void right_row(const Sweep<T> &s, const uint16_t *sums, int64_t y) {
    for (int64_t x = 0; x < s.width; x++) {
        const int64_t d = s.right_disparities[s.width - 1 - x];
        const int lowest = s.right_costs[s.width - 1 - x];
        const uint16_t *at = sums + (x + d) * s.padded + d;
        const bool inside = d > 0 && d < s.ndisp - 1 && x + d + 1 < s.width;
        const float offset = inside ? refined(at[-s.padded - 1], lowest, at[s.padded + 1], s.method) : 0.0f;
        put(s.found_right, y * s.width + x, d, lowest, offset);
    }
}

template <class T, Mode MODE, int PATHS> static void sweep_rows(const Sweep<T> &s, int64_t start, int64_t stop) {
    for (int64_t row = start; row < stop; row++) {
        const int64_t y = s.downward ? row : s.height - 1 - row;
        uint16_t *volume = MODE == FORGET ? NULL : s.volume + (y - s.first_row) * s.width * s.padded;
        const uint16_t *sums = s.row ? s.row : volume;
        if (s.adapted) row_penalties(s, y);
        if constexpr (MODE == DECIDE_BOTH)
            for (int64_t i = 0; i < s.width + s.padded; i++) s.right_costs[i] = NO_COST;
        sweep_row<T, MODE, PATHS>(s, row, y, volume);
        if constexpr (MODE >= DECIDE) left_row(s, sums, y);
        if constexpr (MODE == DECIDE_BOTH) right_row(s, sums, y);
    }
    __sync_synchronize();  // makes stores around the cache visible to other threads
}

template <class T, Mode MODE> static void with_paths(const Sweep<T> &s, int64_t start, int64_t stop) {
    if (s.others == 3) sweep_rows<T, MODE, 4>(s, start, stop);
    else if (s.others == 1) sweep_rows<T, MODE, 2>(s, start, stop);
    else sweep_rows<T, MODE, 1>(s, start, stop);
}

template <class T> static void with_mode(const Sweep<T> &s, int64_t mode, int64_t start, int64_t stop) {
    if (mode == FORGET) with_paths<T, FORGET>(s, start, stop);
    else if (mode == WRITE) with_paths<T, WRITE>(s, start, stop);
    else if (mode == DECIDE) with_paths<T, DECIDE>(s, start, stop);
    else with_paths<T, DECIDE_BOTH>(s, start, stop);
}

// Rows start ... stop, counted in the sweep's direction; see `Sweep` for the arrays.
#define SGM_SWEEP(name, T)                                                                                           \
    EXPORT void SG(name)(const uint8_t *left, const uint8_t *right, const uint8_t *guide, const T *large,            \
                         const T *unused, const uint8_t *outside, T *along, T *slots, T *minima, T *penalties,       \
                         uint32_t *keys, uint16_t *right_found, uint16_t *row, uint16_t *volume, uint16_t *winners,  \
                         float *disparity, uint16_t *minimum, uint16_t *right_winners, float *right_disparity,       \
                         uint16_t *right_minimum, int64_t ndisp, int64_t small, bool adapted, bool downward,         \
                         int64_t mode, int64_t method, int64_t first_row, int64_t start, int64_t stop, int64_t bytes, \
                         int64_t height, int64_t width, int64_t padded, int64_t others, int64_t) {                   \
        const Sweep<T> s = {left, right, guide, large, unused, outside, along, slots, minima, penalties, keys,       \
                            right_found, right_found + width + padded, row, volume, {winners, disparity, minimum},   \
                            {right_winners, right_disparity, right_minimum}, ndisp, bytes, height, width, padded,    \
                            others, first_row, (T)small, adapted, downward, (int)method};                            \
        with_mode<T>(s, mode, start, stop);                                                                          \
    }                                                                                                                \
    KERNEL(name)
SGM_SWEEP(sgm_sweep_u8, uint8_t)
SGM_SWEEP(sgm_sweep_u16, uint16_t)
