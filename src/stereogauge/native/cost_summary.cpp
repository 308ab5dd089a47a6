// What confidence measures need of a pixel's aggregated costs A(d), gathered in one pass over them.
//
// A0 is the winner's cost, d0 its disparity, q(d) = A(d) - A0. Costs of LANES neighbouring pixels are first turned: lane
// for lane a pixel, two disparities in its 32 bits. So sums and minima need no step across lanes, and the neighbours of
// a cost are in its own lane.
//
// Exponentials have a relative error below 2e-7. 2^x with x = n + f, |f| <= 1/2 is a polynomial of degree 5 in f, to
// whose exponent field n is added. A processor with AVX-512 finds one of 32 numbers in two registers with one
// instruction: there 2^x with x = n + j/32 + f, |f| <= 1/64 is a table of 2^(j/32) and a polynomial of degree 2, and
// exp(-q/T) of a whole number q is a product of what its digits of base 32 contribute.
#include "lanes.h"

constexpr int LANES = REGISTER / 4;  // pixels of a group
constexpr int CHUNK = 8;             // disparities that are turned at once: what 128 bits hold of one pixel
constexpr int SUMMED = 8;            // pairs of disparities that are summed on their own, so that long sums round less
constexpr int AHEAD = 3;             // groups between the one that is fetched from memory and the one that is read
constexpr int NONE = 65535;
constexpr float SMALLEST_EXPONENT = -125, SMALLEST_ROOT = -11.18034f;  // 11.18034^2 = 125
typedef vec<uint16_t, 2 * LANES> Pair;
typedef vec<uint16_t, LANES> Single;
typedef vec<uint32_t, LANES> Wide;
typedef vec<int32_t, LANES> Whole;
typedef vec<float, LANES> Real;

// exp(-q^2/s^2) = 2^-(q sigma)^2, negligible from q = `far` on; exp(-q/T) = 2^-(q cold); `far_close` and `far_weight`
// are the two at q = 65535. `tables` are those of kernels/cost_summary.py.
struct Scales {
    const float *tables;
    float sigma, cold, far_close, far_weight, temperature;
    int64_t far, ramp;
};

// The maps of `CostSummary` in kernels/cost_summary.py.
struct Summary {
    uint16_t *minimum, *below, *above, *second, *second_minimum;
    uint32_t *total;
    float *perturbation, *partition, *excess, *ambiguity;
};

INLINE Real real(Wide v) { return __builtin_convertvector((Whole)v, Real); }
INLINE Wide wide(Single v) { return __builtin_convertvector(v, Wide); }
INLINE Wide even(Pair v) { return (Wide)v & 0xFFFF; }
INLINE Wide odd(Pair v) { return (Wide)v >> 16; }
INLINE Pair twice(Single v) { return (Pair)(wide(v) | wide(v) << 16); }
// The disparities of `these`, and before them those of `those`, one place on.
INLINE Pair next(Pair these, Pair those) { return (Pair)((Wide)these << 16 | (Wide)those >> 16); }
INLINE Real at_least(Real v, float floor) { return larger(v, splat<Real, float>(floor)); }

// 2^(a b) for -125 <= a b <= 0. Adding 1.5 2^23 to a small number rounds it to an integer, which is in the lowest bits.
INLINE Real power_of_two(Real a, Real b) {
    const Real rounds = splat<Real, float>(1.5f * (1 << 23)), rounded = fused(a, b, rounds);
    const Real f = fused(a, b, rounds - rounded);
    Real near_one = fused(splat<Real, float>(0.00132648f), f, splat<Real, float>(0.00967151f));
    near_one = fused(near_one, f, splat<Real, float>(0.05550734f));
    near_one = fused(near_one, f, splat<Real, float>(0.24022242f));
    near_one = fused(near_one, f, splat<Real, float>(0.693147f));
    near_one = fused(near_one, f, splat<Real, float>(1));
    return (Real)((Wide)near_one + ((Wide)rounded << 23));
}

// exp(-q/T).
INLINE Real weight_of(Real q, float cold) {
    return power_of_two(at_least(q * -cold, SMALLEST_EXPONENT), splat<Real, float>(1));
}

// exp(-q/T) by the digits of q < 2048 of base 32, the last of them 0 or 1; a larger q counts as q mod 1024 + 1024.
INLINE Real looked_up(Wide q, const Table &units, const Table &seconds, float last) {
    const Real product = (Real)units.entry(q) * (Real)seconds.entry(q >> 5);
    return q > 1023 ? product * last : product;
}
// What `looked_up` omits of q.
INLINE Real omitted(Wide q) { return real(larger(q & ~1023u, Wide{} + 1024u) - 1024u); }

// sum + 2^-(z^2).
INLINE Real add_bell(Real sum, Real z, const Table &roots) {
    if constexpr (!LOOKS_UP) return sum + power_of_two(z, -z);
    const Real rounds = splat<Real, float>(1.5f * (1 << 18)), rounded = fused(z, -z, rounds);
    const Real f = fused(z, -z, rounds - rounded);
    const Real root = (Real)((Wide)roots.entry((Wide)rounded) + ((Wide)rounded << 18));
    const Real slope = fused(splat<Real, float>(0.24022676f), f, splat<Real, float>(0.69315733f));
    return fused(root, fused(slope, f, splat<Real, float>(1)), sum);
}

template <int N> INLINE auto quarters(const vec<uint32_t, 4> *from, int step) {  // N of them, `step` apart, side by side
    if constexpr (N == 1) return from[0];
    else return joined(quarters<N / 2>(from, step), quarters<N / 2>(from + N / 2 * step, step));
}

// The differences q of LANES pixels into `room`, a vector per pair of disparities, between two vectors of 65535; of an
// odd number of disparities, the last pair ends with q = 65535. LANES x `ndisp` rounded up to CHUNK costs are read.
INLINE void turn(const uint16_t *sums, int64_t padded, int64_t ndisp, Pair lowest, Pair *room) {
    room[0] = ~Pair{};
    for (int64_t d = 0; d < ndisp; d += CHUNK) {
        const uint16_t *later = sums + AHEAD * LANES * padded + d * LANES;
        for (int line = 0; line < LANES * CHUNK / 32; line++) __builtin_prefetch(later + 32 * line);
        vec<uint32_t, 4> costs[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) costs[i] = load<vec<uint32_t, 4>>(sums + i * padded + d);
        const Wide a = quarters<LANES / 4>(costs, 4), b = quarters<LANES / 4>(costs + 1, 4);
        const Wide c = quarters<LANES / 4>(costs + 2, 4), e = quarters<LANES / 4>(costs + 3, 4);
        const Wide ab = by_fours<0, 1, 0, 1>(a, b), ce = by_fours<0, 1, 0, 1>(c, e);  // a0 a1 b0 b1
        const Wide AB = by_fours<2, 3, 2, 3>(a, b), CE = by_fours<2, 3, 2, 3>(c, e);
        Pair *at = room + 1 + d / 2;
        at[0] = (Pair)by_fours<0, 2, 0, 2>(ab, ce) - lowest;
        at[1] = (Pair)by_fours<1, 3, 1, 3>(ab, ce) - lowest;
        at[2] = (Pair)by_fours<0, 2, 0, 2>(AB, CE) - lowest;
        at[3] = (Pair)by_fours<1, 3, 1, 3>(AB, CE) - lowest;
    }
    const int64_t pairs = (ndisp + 1) / 2;
    room[1 + pairs] = ~Pair{};
    if (ndisp & 1) room[pairs] = (Pair)((Wide)room[pairs] | 0xFFFF0000u);
}

// The first `count` lanes: not those beyond the end of the row.
template <class V, class T> INLINE void put(T *map, V v, int64_t count) {
    if (count >= LANES) store(map, v);
    else memcpy(map, &v, count * sizeof(T));
}

// All maps but `minimum`, `below` and `above` for the pixels in columns x ... x + LANES - 1 or as far as the row goes.
static void summarise_group(const uint16_t *sums, int64_t padded, int64_t ndisp, Pair *room, uint16_t *near,
                            Single lowest, Single winner, int64_t x, int64_t at, int64_t count, const Scales &s,
                            const Summary &found) {
    const int64_t pairs = (ndisp + 1) / 2;
    const bool unused = ndisp & 1;
    turn(sums, padded, ndisp, twice(lowest), room);
    const Pair *q = room + 1;

    // Sums of q, exp(-q/T) and q exp(-q/T). Pairs of disparities with any q below `far` are near; their numbers are
    // written down without a branch, since a processor would not foresee it.
    Real weights = {}, weighted = {};
    Wide total = {};
    int64_t near_count = 0;
    const Pair far = splat<Pair, uint16_t>((uint16_t)s.far);
    const Table units(s.tables + 32), seconds(s.tables + 64), roots(s.tables);
    for (int64_t start = 0; start < pairs; start += SUMMED) {
        Real block = {}, block_weighted = {};
        const int64_t stop = start + SUMMED < pairs ? start + SUMMED : pairs;
        for (int64_t i = start; i < stop; i++) {
            const Wide first_q = even(q[i]), second_q = odd(q[i]);
            const Real first_real = real(first_q), second_real = real(second_q);
            Real one, other;
            if constexpr (LOOKS_UP) {
                one = looked_up(first_q, units, seconds, s.tables[96]);
                other = looked_up(second_q, units, seconds, s.tables[96]);
                if (__builtin_expect(any(q[i] > 2047), 0)) {
                    one *= weight_of(omitted(first_q), s.cold);
                    other *= weight_of(omitted(second_q), s.cold);
                }
            } else {
                one = weight_of(first_real, s.cold);
                other = weight_of(second_real, s.cold);
            }
            block += one + other;
            block_weighted = fused(other, second_real, fused(one, first_real, block_weighted));
            total += first_q + second_q;
            near[near_count] = (uint16_t)i;
            near_count += any(q[i] < far);
        }
        weights += block;
        weighted += block_weighted;
    }
    if (unused) {
        weights -= s.far_weight;
        weighted -= s.far_weight * NONE;
        total -= NONE;
    }
    // Subtracting the unused terms rounds: without a floor, entropies just below 0 would have no logarithm.
    put(found.total + at, total + wide(lowest) * (uint32_t)ndisp, count);
    put(found.partition + at, at_least(weights, 1), count);
    put(found.excess + at, at_least(weighted / (weights * s.temperature), 0), count);

    // Sum of exp(-q^2/s^2) over the pairs that are near.
    Real close = {};
    for (int64_t start = 0; start < near_count; start += SUMMED) {
        Real block = {};
        const int64_t stop = start + SUMMED < near_count ? start + SUMMED : near_count;
        for (int64_t i = start; i < stop; i++) {
            const Pair these = q[near[i]];
            block = add_bell(block, at_least(real(even(these)) * -s.sigma, SMALLEST_ROOT), roots);
            block = add_bell(block, at_least(real(odd(these)) * -s.sigma, SMALLEST_ROOT), roots);
        }
        close += block;
    }
    put(found.perturbation + at, at_least(close - (unused ? 1 + s.far_close : 1), 0), count);

    // The smallest A and the smallest local minimum beside the winner, and the sum of max(0, ramp - q). A cost that
    // equals the one before it belongs to a plateau, whose minimum is found at its end: below the cost after it, and
    // below the one before the plateau. Before the winner's plateau that one counts as 0.
    const Pair none = ~Pair{}, zero = {}, winners = twice(winner);
    const int64_t ramp = s.ramp < NONE ? s.ramp : NONE, fitting = NONE / (ramp < 1 ? 1 : ramp);  // sums in 16 bits
    const Wide visible = smaller((Wide)(iota<Wide>() + (uint32_t)(x + 1)), Wide{} + (uint32_t)ndisp);
    const Pair visible_pairs = (Pair)(visible | visible << 16), ramps = splat<Pair, uint16_t>((uint16_t)ramp);
    Pair second = none, second_minimum = none, before_plateau = none, margins = zero, before = next(q[0], none);
    Pair numbers = (Pair)(Wide{} + (1u << 16));
    Wide rivals = {};
    for (int64_t start = 0; start < pairs; start += fitting) {
        const int64_t stop = start + fitting < pairs ? start + fitting : pairs;
        for (int64_t i = start; i < stop; i++) {
            const Pair here = q[i], left = before, right = next(q[i + 1], here);
            before = right;
            const Pair margin = larger(ramps, here) - here;
            margins += numbers < visible_pairs ? margin : zero;
            const auto others = numbers != winners;
            numbers += 2;
            second = others ? smaller(second, here) : second;
            const auto plateau = others & (here == left);
            const Pair begin = others ? left : zero;
            const Pair carried = plateau ? (Pair)((Wide)before_plateau >> 16) : begin;  // first even ones, then odd
            before_plateau = plateau ? next(carried, before_plateau) : begin;
            const auto ends = others & (here < right) & (here < before_plateau);
            second_minimum = ends ? smaller(second_minimum, here) : second_minimum;
        }
        rivals += even(margins) + odd(margins);
        margins = zero;
    }
    const Real seen = real(visible);
    const Real sure = fused(seen, splat<Real, float>((float)(s.ramp - ramp)), __builtin_convertvector(rivals, Real));
    put(found.ambiguity + at, sure / (seen * (float)s.ramp), count);
    const Single second_found = __builtin_convertvector(smaller(even(second), odd(second)), Single);
    const Single minimum_found = __builtin_convertvector(smaller(even(second_minimum), odd(second_minimum)), Single);
    put(found.second + at, smaller(second_found, (Single)~lowest) + lowest, count);
    put(found.second_minimum + at, smaller(minimum_found, (Single)~lowest) + lowest, count);
}

// Image rows start ... stop of a summary. `sums` (rows, width, padded) begins with image row `first_row`; the last pixel
// may end after `ndisp` numbers. The rest is memory: `room` (rounded / 2 + 2 vectors), `near` (rounded), `lowest` and
// `chosen` (columns), `copied` (columns x padded + rounded), with `width` and `ndisp` rounded up to whole groups and
// chunks. Stops and returns false at a winner that is not in the range of disparities.
EXPORT bool SG(cost_summary)(const uint16_t *sums, const uint16_t *winners, const float *tables, uint16_t *minimum,
                             uint16_t *below, uint16_t *above, uint16_t *second, uint16_t *second_minimum,
                             uint32_t *total, float *perturbation, float *partition, float *excess, float *ambiguity,
                             uint16_t *room, uint16_t *near, uint16_t *lowest, uint16_t *chosen, uint16_t *copied,
                             float sigma, float cold, float far_close, float far_weight, float temperature, int64_t far,
                             int64_t ramp, int64_t padded, int64_t ndisp, int64_t first_row, int64_t start,
                             int64_t stop, int64_t size, int64_t height, int64_t width, int64_t rounded,
                             int64_t columns, int64_t) {
    (void)height;
    const Scales scales = {tables, sigma, cold, far_close, far_weight, temperature, far, ramp};
    const Summary found = {minimum, below, above, second, second_minimum, total, perturbation, partition, excess,
                           ambiguity};
    memset(lowest, 0, columns * sizeof *lowest);
    memset(chosen, 0, columns * sizeof *chosen);
    const int64_t groups = (width + LANES - 1) / LANES;
    for (int64_t y = start; y < stop; y++) {
        const int64_t row_at = (y - first_row) * width * padded;
        const uint16_t *row = sums + row_at;
        if (row_at + (groups * LANES - 1) * padded + rounded > size) {  // vectors would be read beyond the array
            const int64_t rest = size - row_at, whole = width * padded;
            memcpy(copied, row, sizeof *row * (whole < rest ? whole : rest));
            row = copied;
        }
        for (int64_t following = 0; following < (groups + 1) * LANES; following += LANES) {
            // One group ahead: what is written in small pieces cannot at once be read as a vector.
            for (int64_t x = following; x < following + LANES && x < width; x++) {
                const int64_t at = y * width + x, d = winners[at];
                if (d >= ndisp) return false;
                const uint16_t *here = row + x * padded + d;
                chosen[x] = (uint16_t)d;
                lowest[x] = minimum[at] = *here;
                below[at] = d > 0 ? here[-1] : NONE;
                above[at] = d < ndisp - 1 ? here[1] : NONE;
            }
            const int64_t x = following - LANES;
            if (x >= 0)
                summarise_group(row + x * padded, padded, ndisp, (Pair *)room, near, load<Single>(lowest + x),
                                load<Single>(chosen + x), x, y * width + x, width - x, scales, found);
        }
    }
    return true;
}
KERNEL(cost_summary)
