// Depth discontinuities and what lies beside them: bands, exact distances, thin structures, filled rows.
#include "kernel.h"

constexpr int16_t NEVER = 32767;

// What is known of each pixel while bands are marked. rank: steps from the nearest edge so far; side: 1 foreground,
// -1 background, 0 neither; beyond: the disparity on the other side of that edge.
struct BandMap {
    const bool *discontinuity;
    int16_t *rank;
    int8_t *side;
    float *beyond;
    int64_t height, width;
};

// Unit steps from a pixel along the gradient, or against it.
struct Path {
    int64_t y, x;
    double step_y, step_x;

    // The flat position of the pixel `steps` away, rounded half up; -1 outside the image.
    int64_t pixel(const BandMap &map, int64_t steps) const {
        const double row = floor(y + steps * step_y + 0.5), column = floor(x + steps * step_x + 0.5);
        if (!(row >= 0 && row < map.height && column >= 0 && column < map.width)) return -1;
        return (int64_t)row * map.width + (int64_t)column;
    }

    // Steps to where a side begins, -1 where the image or `reach` ends before: to the first pixel outside the
    // discontinuity or, on what is so narrow that all of it lies inside, to the last pixel before the disparity turns
    // back by `least_gap`. `sign` is 1 for a rising path, -1 for a falling one.
    int64_t side_begins(const BandMap &map, const float *filled, int sign, double least_gap, int64_t reach) const {
        float last = filled[y * map.width + x];
        for (int64_t steps = 1; steps <= reach; steps++) {
            const int64_t at = pixel(map, steps);
            if (at < 0) return -1;
            if (sign * (last - filled[at]) >= least_gap) return steps - 1;
            if (!map.discontinuity[at]) return steps;
            last = filled[at];
        }
        return -1;
    }

    // Give the `length` pixels from `start` on to a side, except where a nearer edge has claimed them; where an equally
    // near one gave them to the other side, they belong to neither.
    void mark(const BandMap &map, int8_t side, float beyond, int64_t start, int64_t length) const {
        for (int64_t away = 0; away < length; away++) {
            const int64_t at = pixel(map, start + away);
            if (at < 0) return;
            if (map.discontinuity[at] || away > map.rank[at]) continue;
            if (away < map.rank[at]) {
                map.rank[at] = (int16_t)away;
                map.side[at] = side;
                map.beyond[at] = beyond;
            } else if (map.side[at] != side) {
                map.side[at] = 0;
            }
        }
    }
};

// From every discontinuity pixel the gradient is followed both ways: rising disparity leads to the foreground, falling
// disparity to the background. The band's `length` pixels are counted from the first one outside the discontinuity; a
// side that lies inside it as a whole has none. A path that does not rise by `least_gap` from background to foreground
// separates no surfaces. A discontinuity pixel of a path that does belongs to the side that its own disparity is nearer
// to. length < 32768.
EXPORT void SG(follow_bands)(const float *filled, const float *along_x, const float *along_y, const bool *discontinuity,
                             int64_t length, double least_gap, int16_t *rank, int8_t *side, float *beyond,
                             int64_t height, int64_t width) {
    const BandMap map{discontinuity, rank, side, beyond, height, width};
    for (int64_t i = 0; i < height * width; i++) rank[i] = NEVER, side[i] = 0;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            const int64_t at = y * width + x;
            if (!discontinuity[at]) continue;
            const float magnitude = sqrtf(along_x[at] * along_x[at] + along_y[at] * along_y[at]);
            const double step_y = along_y[at] / magnitude, step_x = along_x[at] / magnitude;
            const Path rising{y, x, step_y, step_x}, falling{y, x, -step_y, -step_x};
            const int64_t up = rising.side_begins(map, filled, 1, least_gap, length);
            const int64_t down = up < 0 ? -1 : falling.side_begins(map, filled, -1, least_gap, length);
            if (down < 0) continue;
            const int64_t top = rising.pixel(map, up), bottom = falling.pixel(map, down);
            const float foreground = filled[top], background = filled[bottom];
            if (foreground - background < least_gap) continue;
            if (!discontinuity[top]) rising.mark(map, 1, background, up, length);
            if (!discontinuity[bottom]) falling.mark(map, -1, foreground, down, length);
            const bool near = foreground - filled[at] < filled[at] - background;
            side[at] = near ? 1 : -1;
            beyond[at] = near ? background : foreground;
        }
}
KERNEL(follow_bands)

// Each pixel that joins a band (smoothed != side) takes the value of the nearest pixel that was in that band before,
// within a square of `radius`; of equally near ones the first in reading order. `before` is a copy of `beyond`.
EXPORT void SG(adopt_beyond)(const int8_t *side, const int8_t *smoothed, const float *before, int64_t radius,
                             float *beyond, int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            const int8_t kind = smoothed[y * width + x];
            if (kind == 0 || kind == side[y * width + x]) continue;
            int64_t nearest = 2 * radius * radius + 1;
            const int64_t bottom = y + radius < height ? y + radius : height - 1;
            const int64_t right = x + radius < width ? x + radius : width - 1;
            for (int64_t row = y > radius ? y - radius : 0; row <= bottom; row++)
                for (int64_t column = x > radius ? x - radius : 0; column <= right; column++) {
                    const int64_t distance = (row - y) * (row - y) + (column - x) * (column - x);
                    if (side[row * width + column] != kind || distance >= nearest) continue;
                    nearest = distance;
                    beyond[y * width + x] = before[row * width + column];
                }
        }
}
KERNEL(adopt_beyond)

// Squared Euclidean distances to the nearest true pixel, in whole numbers (Meijster, Roerdink & Hesselink 2000). First
// `squared` holds the steps to the nearest true pixel of the same column. Along a row, pixel x is then nearest to the
// true pixel of the column whose parabola (x - column)^2 + offset is the lowest one at x: `column`, `start` and
// `offset` (three rows of `room`) list the lowest parabolas from left to right and where each begins.
template <class T>
INLINE void squared_distances(const bool *mask, T *squared, int64_t *room, int64_t height, int64_t width) {
    const T never = (T)(height + width);
    for (int64_t x = 0; x < width; x++) squared[x] = mask[x] ? 0 : never;
    for (int64_t y = 1; y < height; y++) {
        const bool *here = mask + y * width;
        T *row = squared + y * width;
        const T *above = row - width;
        for (int64_t x = 0; x < width; x++) {
            const T next = above[x] < never ? above[x] + 1 : never;
            row[x] = here[x] ? 0 : next;
        }
    }
    for (int64_t y = height - 2; y >= 0; y--) {
        T *row = squared + y * width;
        const T *below = row + width;
        for (int64_t x = 0; x < width; x++) row[x] = below[x] + 1 < row[x] ? below[x] + 1 : row[x];
    }
    int64_t *column = room, *start = room + width, *offset = room + 2 * width;
    for (int64_t y = 0; y < height; y++) {
        T *row = squared + y * width;
        int64_t last = -1;
        for (int64_t x = 0; x < width; x++) {
            const int64_t steps = (int64_t)row[x];
            if (row[x] == never) continue;
            const int64_t own = steps * steps;
            int64_t place = 0;
            for (; last >= 0; last--) {
                const int64_t away = start[last] - column[last], here = start[last] - x;
                if (away * away + offset[last] > here * here + own) continue;
                const int64_t rise = x * x - column[last] * column[last] + own - offset[last];
                place = 1 + rise / (2 * (x - column[last]));
                break;
            }
            if (place >= width) continue;
            last++;
            column[last] = x, start[last] = place, offset[last] = own;
        }
        for (int64_t x = width - 1; x >= 0 && last >= 0; x--) {
            const int64_t away = x - column[last];
            row[x] = (T)(away * away + offset[last]);
            if (x == start[last] && last > 0) last--;
        }
    }
}

EXPORT void SG(squared_distances_u32)(const bool *mask, uint32_t *squared, int64_t *room, int64_t height,
                                      int64_t width) {
    squared_distances(mask, squared, room, height, width);
}
KERNEL(squared_distances_u32)

EXPORT void SG(squared_distances_u64)(const bool *mask, uint64_t *squared, int64_t *room, int64_t height,
                                      int64_t width) {
    squared_distances(mask, squared, room, height, width);
}
KERNEL(squared_distances_u64)

// Pixels of runs [start, end) of a row, at most `widest` long, between a rise and a fall of more than `rise` over one
// pixel, whose smallest disparity exceeds those at start - 1 and at end by more than half of `rise`. The gap between
// two wires thus belongs to neither. `fine` begins as false.
EXPORT void SG(thin_runs)(const float *filled, double rise, int64_t widest, bool *fine, int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++) {
        const float *row = filled + y * width;
        for (int64_t start = 1; start < width; start++) {
            const float left = row[start - 1];
            if (!(row[start] - left > rise)) continue;
            float lowest = row[start];
            const int64_t limit = widest < width - 1 - start ? start + widest : width - 1;
            for (int64_t end = start + 1; end <= limit; end++) {
                if (row[end - 1] - row[end] > rise && lowest > row[end] + rise / 2)
                    for (int64_t x = start; x < end; x++) fine[y * width + x] = true;
                lowest = row[end] < lowest ? row[end] : lowest;
                if (!(lowest > left + rise / 2)) break;
            }
        }
    }
}
KERNEL(thin_runs)

// Background pixels within `reach` left and right of a structure on its row, and the column of the structure: the
// nearer one, the left one of two equally near. A pixel less than `least_gap` behind it is no background. `beside`
// begins as false.
EXPORT void SG(beside_structures)(const float *filled, const bool *fine, int64_t reach, double least_gap, bool *beside,
                                  int32_t *column, int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++) {
        const float *row = filled + y * width;
        int64_t last = -reach - 1, following = 0;
        for (int64_t x = 0; x < width; x++) {
            const int64_t at = y * width + x;
            if (fine[at]) {
                last = x;
                continue;
            }
            following = following > x ? following : x;
            while (following < width && !fine[y * width + following]) following++;
            const bool to_the_right = following < width && following <= x + reach && following - x < x - last;
            if (!to_the_right && x - last > reach) continue;
            const int64_t source = to_the_right ? following : last;
            if (!(row[source] - row[x] > least_gap)) continue;
            beside[at] = true;
            column[at] = (int32_t)source;
        }
    }
}
KERNEL(beside_structures)

// A gap of a row takes the smaller of its two known neighbours, the ends of a row the nearest known value; `filled`
// tells which rows have a known value at all.
EXPORT void SG(fill_each_row)(float *disparity, bool *filled, int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++) {
        float *row = disparity + y * width;
        int64_t last = -1;
        for (int64_t x = 0; x < width; x++) {
            if (row[x] != row[x]) continue;
            if (x > last + 1) {
                const float background = last < 0 || row[x] < row[last] ? row[x] : row[last];
                for (int64_t gap = last + 1; gap < x; gap++) row[gap] = background;
            }
            last = x;
        }
        filled[y] = last >= 0;
        for (int64_t x = last + 1; last >= 0 && x < width; x++) row[x] = row[last];
    }
}
KERNEL(fill_each_row)
