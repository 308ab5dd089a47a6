// From one view to the other: which pixels it sees too, and images moved there.
#include "kernel.h"

constexpr float UNSEEN = -9999;
constexpr float FAR_AWAY = 1099511627776.0f;  // 2^40: outside every image

// The nearest whole number, halves away from zero; FAR_AWAY for NaN, infinities and huge values.
INLINE int64_t half_away(float value) {
    const float moved = value + copysignf(0.5f, value);
    return fabsf(moved) < FAR_AWAY ? (int64_t)moved : (int64_t)FAR_AWAY;
}

// The line from (start, start_value) to (end, end_value) at every whole position inside the row.
INLINE void segment(float *target, float start, float start_value, float end, float end_value, int64_t width) {
    if (end < start) return;
    const float length = end - start == 0 ? 1 : end - start;
    const int64_t from = half_away(start), to = half_away(end), last = to < width ? to : width - 1;
    for (int64_t i = from > 0 ? from : 0; i <= last; i++)
        target[i] = start_value + ((float)i - start) / length * (end_value - start_value);
}

// Visibility as in Middlebury's official v2 masks, from the left map alone with unknown = 0: a row is warped to the
// right view and back. Neighbours whose disparities differ by less than 2 are joined by a line, later writes win, and
// on the way back each end takes the disparity of the other pixel, as the original does. `room` is three rows.
EXPORT void SG(middlebury_v2_visible)(const float *disparity, bool *visible, float *room, int64_t height,
                                      int64_t width) {
    float *warped = room, *written = room + width, *back = room + 2 * width;
    for (int64_t y = 0; y < height; y++) {
        const float *d = disparity + y * width;
        for (int64_t x = 0; x < width; x++) warped[x] = UNSEEN, back[x] = 0;
        for (int64_t x = 0; x < width; x++) {
            if (x + 1 < width && fabsf(d[x] - d[x + 1]) < 2) {
                segment(warped, (float)x - d[x], d[x], (float)(x + 1) - d[x + 1], d[x + 1], width);
                continue;
            }
            const int64_t target = x - half_away(d[x]);
            if (target >= 0 && target < width) warped[target] = d[x];
        }
        for (int64_t x = 0; x < width; x++) written[x] = warped[x] == UNSEEN ? 0 : 255;
        for (int64_t x = width - 1; x >= 0; x--) {
            if (x > 0 && fabsf(warped[x] - warped[x - 1]) < 2) {
                segment(back, (float)(x - 1) + warped[x], written[x - 1], (float)x + warped[x - 1], written[x], width);
                continue;
            }
            const int64_t target = x - half_away(-warped[x]);
            if (target >= 0 && target < width) back[target] = written[x];
        }
        for (int64_t x = 0; x < width; x++) visible[y * width + x] = back[x] >= 254;
    }
}
KERNEL(middlebury_v2_visible)

// Visible where the target x - sign * round(D) lies in the image and both views' disparities agree to the tolerance;
// sign is 1 from left to right and -1 from right to left. An unknown value of the other view hides.
EXPORT void SG(bidirectional_visible)(const float *disparity, const float *other, float tolerance, int64_t sign,
                                      bool *visible, int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            const float d = disparity[y * width + x];
            const int64_t target = x - sign * half_away(d);
            visible[y * width + x] =
                target >= 0 && target < width && fabsf(d - other[y * width + target]) <= tolerance;
        }
}
KERNEL(bidirectional_visible)

// Visible where the target lies in the image and no pixel nearer by more than the tolerance lands on it. `nearest` is
// room for one row.
EXPORT void SG(z_buffer_visible)(const float *disparity, float tolerance, float *nearest, bool *visible, int64_t height,
                                 int64_t width) {
    for (int64_t y = 0; y < height; y++) {
        const float *d = disparity + y * width;
        for (int64_t x = 0; x < width; x++) nearest[x] = UNSEEN;
        for (int64_t x = 0; x < width; x++) {
            const int64_t target = x - half_away(d[x]);
            if (target >= 0 && target < width && d[x] > nearest[target]) nearest[target] = d[x];
        }
        for (int64_t x = 0; x < width; x++) {
            const int64_t target = x - half_away(d[x]);
            visible[y * width + x] = target >= 0 && target < width && nearest[target] - d[x] <= tolerance;
        }
    }
}
KERNEL(z_buffer_visible)

// Backward warping: rendered(x) = source(x - d(x)), linear between two pixels. A pixel without a disparity, or whose
// source lies outside the image, is a hole and NaN.
EXPORT void SG(warp_backward)(const float *source, const float *disparity, float *rendered, bool *hole, int64_t height,
                              int64_t width, int64_t channels) {
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            const int64_t at = y * width + x;
            const double column = x - (double)disparity[at];
            hole[at] = !(column >= 0 && column <= width - 1);
            if (hole[at]) {
                for (int64_t c = 0; c < channels; c++) rendered[at * channels + c] = NAN;
                continue;
            }
            const int64_t floored = (int64_t)column, low = floored < width - 1 || floored == 0 ? floored : width - 2;
            const int64_t high = low + 1 < width ? low + 1 : low;
            const double share = column - low;
            const float *row = source + y * width * channels;
            const float *first = row + low * channels, *second = row + high * channels;
            for (int64_t c = 0; c < channels; c++)
                rendered[at * channels + c] = (float)((1.0 - share) * first[c] + share * second[c]);
        }
}
KERNEL(warp_backward)

constexpr double SAME_SURFACE = 1.0;    // contributions whose disparities differ by at most this are blended
constexpr double ENOUGH_WEIGHT = 0.25;  // less than this on a pixel, of 1 for a whole one, is a hole

// The columns of a row from `from` to before `to`, cut to the image, on which nothing nearer than `d` lies.
INLINE void mark_columns(const double *front, bool *lost, double from, double to, double d, int64_t width) {
    if (!(from < width && to > 0)) return;
    const int64_t end = to < width ? (int64_t)to : width;
    for (int64_t target = from > 0 ? (int64_t)from : 0; target < end; target++)
        if (front[target] <= d + SAME_SURFACE) lost[target] = true;
}

// Mark the columns on which a run of n pixels without a disparity would fall: the n columns beside those on which
// either neighbour of the run falls, as part of its surface, unless a nearer surface is there.
INLINE void mark_lost(const float *disparity, double position, const double *front, bool *lost, int64_t width) {
    for (int64_t x = 0; x < width; x++) lost[x] = false;
    int64_t last = -1;
    for (int64_t x = 0; x <= width; x++) {
        if (x < width && !(fabsf(disparity[x]) < INFINITY)) continue;
        const int64_t run = x - last - 1;
        if (run > 0 && last >= 0) {
            const double d = disparity[last], column = last - position * d;
            mark_columns(front, lost, floor(column) + 1, ceil(column + run + 1), d, width);
        }
        if (run > 0 && x < width) {
            const double d = disparity[x], column = x - position * d;
            mark_columns(front, lost, floor(column - run - 1) + 1, ceil(column), d, width);
        }
        last = x;
    }
}

// Forward splatting: the view at `position` (in baselines; the source is at 0), where pixel x lands at
// x - position * d(x) and is shared linearly between the two columns that it falls on; the nearest surface wins.
// `inside` tells which rendered pixels stem, for the larger part, from pixels with `member`. `lost` marks those on
// which a pixel without a disparity may have fallen: they are holes, since what its neighbours alone give there is
// another, mostly worse colour. `room` holds, per column, front disparity, weight, weight of members, and the channels.
EXPORT void SG(splat_forward)(const float *source, const float *disparity, double position, const bool *member,
                              double *room, float *rendered, bool *hole, bool *inside, bool *lost, int64_t height,
                              int64_t width, int64_t channels) {
    double *front = room, *weight = room + width, *belongs = room + 2 * width, *total = room + 3 * width;
    for (int64_t y = 0; y < height; y++) {
        const float *d = disparity + y * width;
        for (int64_t x = 0; x < width; x++) front[x] = -INFINITY, weight[x] = belongs[x] = 0;
        for (int64_t i = 0; i < width * channels; i++) total[i] = 0;
        for (int64_t x = 0; x < width; x++) {
            const double column = x - position * d[x];
            if (!(column > -1 && column < width)) continue;
            const int64_t low = (int64_t)floor(column);
            for (int64_t target = low > 0 ? low : 0; target < low + 2 && target < width; target++)
                if (1.0 - fabs(column - target) > 0 && d[x] > front[target]) front[target] = d[x];
        }
        for (int64_t x = 0; x < width; x++) {
            const double column = x - position * d[x];
            if (!(column > -1 && column < width)) continue;
            const int64_t low = (int64_t)floor(column);
            for (int64_t target = low > 0 ? low : 0; target < low + 2 && target < width; target++) {
                const double share = 1.0 - fabs(column - target);
                if (share <= 0 || d[x] < front[target] - SAME_SURFACE) continue;
                weight[target] += share;
                if (member[y * width + x]) belongs[target] += share;
                for (int64_t c = 0; c < channels; c++)
                    total[target * channels + c] += share * source[(y * width + x) * channels + c];
            }
        }
        mark_lost(d, position, front, lost + y * width, width);
        for (int64_t x = 0; x < width; x++) {
            const int64_t at = y * width + x;
            hole[at] = lost[at] || weight[x] < ENOUGH_WEIGHT;
            inside[at] = 2 * belongs[x] > weight[x];
            for (int64_t c = 0; c < channels; c++)
                rendered[at * channels + c] = hole[at] ? NAN : (float)(total[x * channels + c] / weight[x]);
        }
    }
}
KERNEL(splat_forward)
