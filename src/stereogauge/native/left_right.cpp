// Agreement of left and right disparity maps, and interpolation of what does not agree.
#include "kernel.h"

enum Label { CONSISTENT, OCCLUDED, MISMATCHED };  // numbers as in matching/postprocess.py

// Which left pixels x of a row have a d in 0 ... ndisp - 1 with |D_r(x - d) - d| <= tolerance. A right pixel x' agrees
// only with left pixels around x' + D_r(x'), so that no pixel has to search the whole range.
static void mark_agreeing(const float *right, int64_t width, int64_t ndisp, double tolerance, bool *agreeing) {
    memset(agreeing, 0, width);
    for (int64_t there = 0; there < width; there++) {
        const double disparity = right[there];
        if (!isfinite(disparity)) continue;
        const double low = floor(disparity - tolerance), high = ceil(disparity + tolerance);
        const double most = (double)((ndisp < width - there ? ndisp : width - there) - 1);
        const double first = low > 0 ? low : 0, last = high < most ? high : most;
        if (first > last) continue;  // also where the numbers are too large for integers
        for (int64_t d = (int64_t)first; d <= (int64_t)last; d++)
            if (fabs(disparity - (double)d) <= tolerance) agreeing[there + d] = true;
    }
}

// Consistent: |D(x) - D_r(x - D(x))| <= tolerance, D_r at the nearest pixel. Else mismatched where some right pixel
// agrees with x, occluded where none does. `agreeing` is memory for a row.
EXPORT void SG(left_right_labels)(const float *left, const float *right, uint8_t *labels, bool *agreeing, int64_t ndisp,
                                  double tolerance, int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++, left += width, right += width, labels += width) {
        mark_agreeing(right, width, ndisp, tolerance, agreeing);
        for (int64_t x = 0; x < width; x++) {
            const double there = floor((double)x - left[x] + 0.5);  // NaN where the disparity is
            const bool inside = there >= 0 && there < (double)width;
            if (inside && fabsf(left[x] - right[(int64_t)there]) <= tolerance) labels[x] = CONSISTENT;
            else labels[x] = agreeing[x] ? MISMATCHED : OCCLUDED;
        }
    }
}
KERNEL(left_right_labels)

// |D(x) - D_r(x - D(x))|, D_r linear between its two nearest pixels, or the nearer one where they differ by more than
// 1. `outside` where x - D(x) leaves the image or either map is unknown.
EXPORT void SG(left_right_differences)(const float *left, const float *right, float *difference, double outside,
                                       int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++, left += width, right += width, difference += width)
        for (int64_t x = 0; x < width; x++) {
            difference[x] = (float)outside;
            const double position = (double)x - left[x];
            if (!(position >= 0 && position <= (double)(width - 1))) continue;
            const int64_t before = (int64_t)position, after = before + 1 < width ? before + 1 : width - 1;
            const double fraction = position - (double)before;
            const float first = right[before], second = right[after];
            const double there = fabsf(first - second) <= 1 ? first + fraction * (second - first)
                                 : fraction < 0.5           ? first
                                                            : second;
            if (isfinite(there)) difference[x] = (float)fabs(left[x] - there);
        }
}
KERNEL(left_right_differences)

// What pixels of the next row see first behind them, after `row`: in their column, and on its two sides.
static void look_back(const float *row, int64_t width, float *straight, float *left, float *right) {
    for (int64_t x = 0; x < width; x++) straight[x] = isfinite(row[x]) ? row[x] : straight[x];
    for (int64_t x = 0; x < width - 1; x++) right[x] = isfinite(row[x + 1]) ? row[x + 1] : right[x + 1];
    for (int64_t x = width - 1; x > 0; x--) left[x] = isfinite(row[x - 1]) ? row[x - 1] : left[x - 1];
    left[0] = right[width - 1] = NAN;
}

// Put a value in its place among the first `count` numbers, which are in order.
static void insert(float value, float *ordered, int count) {
    for (; count > 0 && ordered[count - 1] > value; count--) ordered[count] = ordered[count - 1];
    ordered[count] = value;
}

// Unknown pixels from the nearest known ones in eight directions: the second smallest for occluded pixels, the median
// for others; nothing is written where no known pixel is seen. What a pixel sees is passed on from row to row, first
// from below, then from above: the same work for small gaps and for large ones. `below` (gaps, 3) keeps what the
// unknown pixels see in the rows below them, in the order of pixels; `views` (4, width) is memory for rows.
EXPORT void SG(fill_gaps)(const float *disparity, const bool *occluded, float *filled, float *below, float *views,
                          int64_t height, int64_t width, int64_t gaps) {
    if (width == 0) return;
    float *straight = views, *left = views + width, *right = views + 2 * width, *after = views + 3 * width;
    for (int64_t i = 0; i < 3 * width; i++) views[i] = NAN;
    int64_t gap = gaps;
    for (int64_t y = height - 1; y >= 0; y--) {
        const float *row = disparity + y * width;
        for (int64_t x = width - 1; x >= 0; x--)
            if (!isfinite(row[x])) {
                float *seen = below + 3 * --gap;
                seen[0] = straight[x], seen[1] = left[x], seen[2] = right[x];
            }
        look_back(row, width, straight, left, right);
    }
    for (int64_t i = 0; i < 3 * width; i++) views[i] = NAN;
    for (int64_t y = 0; y < height; y++) {
        const float *row = disparity + y * width;
        float following = NAN, before = NAN;
        for (int64_t x = width - 1; x >= 0; x--) {
            after[x] = following;
            if (isfinite(row[x])) following = row[x];
        }
        for (int64_t x = 0; x < width; x++) {
            if (isfinite(row[x])) {
                before = row[x];
                continue;
            }
            const float *under = below + 3 * gap++;
            const float all[8] = {before,   after[x], straight[x], left[x],
                                  right[x], under[0], under[1],    under[2]};
            float seen[8];
            int count = 0;
            for (float value : all)
                if (isfinite(value)) insert(value, seen, count++);
            if (count == 0) continue;
            const float median = count % 2 ? seen[count / 2] : (seen[count / 2 - 1] + seen[count / 2]) / 2;
            filled[y * width + x] = occluded[y * width + x] ? seen[count > 1 ? 1 : 0] : median;
        }
        look_back(row, width, straight, left, right);
    }
}
KERNEL(fill_gaps)
