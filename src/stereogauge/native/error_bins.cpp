// The pixels in some bins of the histogram of |e|, found by the fine keys of all pixels, and order statistics of them.
#include "lanes.h"

constexpr int PART_BITS = 5, PARTS = 1 << PART_BITS, AT_ONCE = 64, AHEAD = 16;

// A bit for each of 64 fine keys: not set where its bin is not among those searched for. `tables` has, for each of the
// three hexadecimal digits of a bin, the buckets (a bit each) of searched bins with that digit; a bin whose digits
// share no bucket is not one of them. Without an instruction that looks up bytes, bins are looked up one by one.
INLINE uint64_t candidates(const uint16_t *keys, const uint8_t *tables, const int64_t *numbers) {
    uint64_t found = 0;
    if constexpr (LOOKS_UP_BYTES) {
        typedef vec<uint8_t, REGISTER> Bytes;
        typedef vec<uint16_t, REGISTER / 2> Halves;
        for (int first = 0; first < AT_ONCE; first += REGISTER) {
            const Bytes earlier = (Bytes)(load<Halves>(keys + first) >> PART_BITS);
            const Bytes later = (Bytes)(load<Halves>(keys + first + REGISTER / 2) >> PART_BITS);
            const Bytes low = every_second<0>(earlier, later), high = every_second<1>(earlier, later);
            Bytes buckets = looked_up(load<Bytes>(tables), low & 15);
            buckets &= looked_up(load<Bytes>(tables + AT_ONCE), low >> 4);
            buckets &= looked_up(load<Bytes>(tables + 2 * AT_ONCE), high);
            found |= mask_bits(buckets != 0) << first;
        }
    } else {
        for (int i = 0; i < AT_ONCE; i++) found |= (uint64_t)(numbers[keys[i] >> PART_BITS] >= 0) << i;
    }
    return found;
}

// The columns of the pixels of a row whose bin has a number. Few have: where they may be is found first, without a
// branch that the processor could not predict.
template <class Slot>
static int64_t columns_in_bins(const uint16_t *keys, const Slot *slots, const uint8_t *tables, const int64_t *numbers,
                               uint64_t *bits, int64_t *starts, int64_t *columns, int64_t width) {
    const int64_t whole = width - width % AT_ONCE;
    int64_t blocks = 0, found = 0;
    for (int64_t start = 0; start < whole; start += AT_ONCE) {
        bits[blocks] = candidates(keys + start, tables, numbers);
        starts[blocks] = start;
        blocks += bits[blocks] != 0;
        __builtin_prefetch(slots + start, 0, 0);
    }
    for (int64_t block = 0; block < blocks; block++)
        for (uint64_t left = bits[block]; left; left &= left - 1) {
            const int64_t x = starts[block] + __builtin_ctzll(left);
            columns[found] = x;
            found += numbers[keys[x] >> PART_BITS] >= 0;
        }
    for (int64_t x = whole; x < width; x++) {
        columns[found] = x;
        found += numbers[keys[x] >> PART_BITS] >= 0;
    }
    return found;
}

template <class Slot>
static int64_t collect(const Slot *slots, const uint16_t *keys, const uint8_t *tables, const int64_t *numbers,
                       int64_t first, int64_t place, uint64_t *bits, int64_t *starts, int64_t *columns,
                       uint32_t *pixels, uint16_t *codes, Slot *owners, uint32_t *counts, int64_t height,
                       int64_t width, int64_t room, int64_t code_count, int64_t slot_count) {
    if (place < 0) return -1;
    for (int64_t y = 0; y < height; y++) {
        const uint16_t *row = keys + y * width;
        const Slot *own = slots + y * width;
        const int64_t found = columns_in_bins(row, own, tables, numbers, bits, starts, columns, width);
        for (int64_t i = 0; i < found && place < room; i++, place++) {
            const int64_t x = columns[i];
            const int64_t code = numbers[row[x] >> PART_BITS] * PARTS + row[x] % PARTS;
            if (code >= code_count || own[x] >= slot_count) return -1;
            pixels[place] = (uint32_t)(first + y * width + x);
            codes[place] = (uint16_t)code;
            owners[place] = own[x];
            counts[own[x] * code_count + code]++;
        }
    }
    return place;
}

// The value of a rank, from 0 on, among `count` values, whose order changes: Hoare's algorithm.
static float selected(float *values, int64_t count, int64_t rank) {
    int64_t first = 0, last = count - 1;
    while (first < last) {
        const float pivot = values[(first + last) >> 1];
        int64_t low = first, high = last;
        while (low <= high) {
            while (values[low] < pivot) low++;
            while (values[high] > pivot) high--;
            if (low <= high) {
                const float other = values[low];
                values[low++] = values[high];
                values[high--] = other;
            }
        }
        if (rank <= high) last = high;
        else if (rank >= low) first = low;
        else break;
    }
    return values[rank];
}

static bool all_equal(const float *values, int64_t count) {
    bool different = false;
    for (int64_t i = 1; i < count; i++) different |= values[i] != values[0];
    return !different;
}

// |e| of some ranks, each among the pixels of a region with one code. Pixels are first brought together by code: the
// next one of a code goes to next_place[code], which is -1 for codes that are not needed. A question is a region, the
// places of the first pixel of a code and after the last, and a rank; those of one code, and of one region of it,
// follow each other. With whole-numbered disparities all errors of a code are equal.
template <class Slot>
static bool select(const float *estimate, const float *truth, const uint32_t *pixels, const uint16_t *codes,
                   const Slot *owners, int64_t *next_place, const int64_t *questions, const bool *members,
                   uint32_t *chosen, Slot *chosen_owners, float *errors, float *inside, float *found,
                   int64_t pixel_count, int64_t count, int64_t code_count, int64_t question_count, int64_t region_count,
                   int64_t slot_count, int64_t room) {
    for (int64_t k = 0; k < room; k++) chosen[k] = 0, chosen_owners[k] = 0;
    for (int64_t i = 0; i < count; i++) {
        if (codes[i] >= code_count || pixels[i] >= pixel_count || owners[i] >= slot_count) return false;
        const int64_t place = next_place[codes[i]];
        if (place >= 0 && place < room) {
            next_place[codes[i]] = place + 1;
            chosen[place] = pixels[i];
            chosen_owners[place] = owners[i];
        }
    }
    for (int64_t k = 0; k < room; k++) {
        const int64_t ahead = chosen[k + AHEAD < room ? k + AHEAD : room - 1];
        __builtin_prefetch(estimate + ahead, 0, 0);
        __builtin_prefetch(truth + ahead, 0, 0);
        errors[k] = fabsf(estimate[chosen[k]] - truth[chosen[k]]);
    }
    const int64_t *before = nullptr;
    bool equal = false;
    int64_t size = 0;
    for (const int64_t *q = questions; q < questions + 4 * question_count; before = q, q += 4) {
        const int64_t region = q[0], first = q[1], last = q[2], rank = q[3];
        if (region < 0 || region >= region_count || first < 0 || first >= last || last > room || rank < 0) return false;
        const bool new_code = !before || first != before[1];
        if (new_code) equal = all_equal(errors + first, last - first);
        if (new_code || region != before[0]) size = 0;
        if (equal) {
            *found++ = errors[first];
            continue;
        }
        if (!size)
            for (int64_t k = first; k < last; k++) {
                inside[size] = errors[k];
                size += members[region * slot_count + chosen_owners[k]];
            }
        if (rank >= size) return false;
        *found++ = selected(inside, size, rank);
    }
    return true;
}

#define BINS_BY_SLOT(bits)                                                                                             \
    EXPORT int64_t SG(collect_pixels_u##bits)(                                                                         \
        const uint##bits##_t *slots, const uint16_t *keys, const uint8_t *tables, const int64_t *numbers,              \
        int64_t first, int64_t place, uint64_t *found_bits, int64_t *starts, int64_t *columns, uint32_t *pixels,       \
        uint16_t *codes, uint##bits##_t *owners, uint32_t *counts, int64_t height, int64_t width,                      \
        int64_t room, int64_t slot_count, int64_t code_count) {                                                        \
        return collect(slots, keys, tables, numbers, first, place, found_bits, starts, columns, pixels, codes, owners, \
                       counts, height, width, room, code_count, slot_count);                                           \
    }                                                                                                                  \
    KERNEL(collect_pixels_u##bits)                                                                                     \
    EXPORT bool SG(select_errors_u##bits)(                                                                             \
        const float *estimate, const float *truth, const uint32_t *pixels, const uint16_t *codes,                      \
        const uint##bits##_t *owners, int64_t *next_place, const int64_t *questions, const bool *members,              \
        uint32_t *chosen, uint##bits##_t *chosen_owners, float *errors, float *inside, float *found,                   \
        int64_t pixel_count, int64_t count, int64_t code_count, int64_t question_count, int64_t region_count,          \
        int64_t slot_count, int64_t room) {                                                                            \
        return select(estimate, truth, pixels, codes, owners, next_place, questions, members, chosen, chosen_owners,   \
                      errors, inside, found, pixel_count, count, code_count, question_count, region_count, slot_count, \
                      room);                                                                                           \
    }                                                                                                                  \
    KERNEL(select_errors_u##bits)
BINS_BY_SLOT(8)
BINS_BY_SLOT(16)
