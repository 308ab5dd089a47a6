// Confidence from the shape of all costs, from the row of one image, from windows of a disparity map, and from trees.
#include "lanes.h"

// Per pixel the number of local minima of its costs: plateaus with nothing lower beside them, range ends too. Costs of
// neighbouring pixels are `padded` numbers apart.
EXPORT void SG(count_minima)(const uint16_t *costs, uint16_t *found, int64_t padded, int64_t ndisp, int64_t,
                             int64_t pixels) {
    for (int64_t pixel = 0; pixel < pixels; pixel++) {
        const uint16_t *c = costs + pixel * padded;
        int count = 0;
        bool falling = true;
        for (int64_t d = 1; d < ndisp; d++) {  // without branches, which a processor could not foresee
            const bool rises = c[d] > c[d - 1], falls = c[d] < c[d - 1];
            count += falling & rises;
            falling = falls | (falling & !rises);
        }
        found[pixel] = (uint16_t)(count + falling);
    }
}
KERNEL(count_minima)

// Per pixel the smallest Hamming distance of its code (bytes, height, width) to the others within `reach` in its row;
// 65535 where there is no other pixel. The distance of two pixels counts for both. `best` is memory for a row; codes
// have at most 31 bytes, so that 255 is no distance.
EXPORT void SG(least_difference)(const uint8_t *codes, uint16_t *found, uint8_t *best, int64_t reach, int64_t bytes,
                                 int64_t height, int64_t width) {
    typedef vec<uint8_t, REGISTER> Codes;
    const int64_t most = reach + 1 < width ? reach + 1 : width, size = height * width;
    for (int64_t y = 0; y < height; y++) {
        const uint8_t *row = codes + y * width;
        memset(best, 255, width);
        for (int64_t shift = 1; shift < most; shift++) {
            const int64_t pairs = width - shift;
            int64_t x = 0;
            for (; x + REGISTER <= pairs; x += REGISTER) {
                Codes distance = {};
                for (int64_t k = 0; k < bytes; k++)
                    distance += bits(load<Codes>(row + k * size + x) ^ load<Codes>(row + k * size + x + shift));
                store(best + x, smaller(load<Codes>(best + x), distance));
                store(best + x + shift, smaller(load<Codes>(best + x + shift), distance));
            }
            for (; x < pairs; x++) {
                uint8_t distance = 0;
                for (int64_t k = 0; k < bytes; k++)
                    distance += __builtin_popcount(row[k * size + x] ^ row[k * size + x + shift]);
                best[x] = best[x] < distance ? best[x] : distance;
                best[x + shift] = best[x + shift] < distance ? best[x + shift] : distance;
            }
        }
        for (int64_t x = 0; x < width; x++) found[y * width + x] = best[x] != 255 ? best[x] : 65535;
    }
}
KERNEL(least_difference)

// Per pixel, over the pixels of a window of side 2 radius + 1 inside the image: the share within `tolerance` of its
// disparity, and the number of different whole disparities divided by the number of known ones. 0 and 1 where the pixel
// itself is unknown. `seen` is memory for the whole disparities of a window.
EXPORT void SG(window_agreement)(const float *disparity, float *agreeing, float *kinds, float *seen, int64_t radius,
                                 double tolerance, int64_t height, int64_t width, int64_t) {
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            const float own = disparity[y * width + x];
            agreeing[y * width + x] = 0, kinds[y * width + x] = 1;
            if (!isfinite(own)) continue;
            const int64_t top = y < radius ? 0 : y - radius, bottom = y + radius < height ? y + radius : height - 1;
            const int64_t left = x < radius ? 0 : x - radius, right = x + radius < width ? x + radius : width - 1;
            int64_t known = 0, close = 0, different = 0;
            for (int64_t row = top; row <= bottom; row++)
                for (int64_t column = left; column <= right; column++) {
                    const float value = disparity[row * width + column];
                    if (!isfinite(value)) continue;
                    const float whole = rintf(value);
                    int64_t place = 0;
                    while (place < different && seen[place] != whole) place++;
                    if (place == different) seen[different++] = whole;
                    known++;
                    close += fabsf(value - own) <= tolerance;
                }
            const double total = (double)((bottom - top + 1) * (right - left + 1));
            agreeing[y * width + x] = (float)((double)close / total);
            kinds[y * width + x] = (float)((double)different / (double)known);
        }
}
KERNEL(window_agreement)

// 1 where another pixel of the row matches the same right pixel at a lower cost, or the match is outside, else 0. `best`
// is memory for a row: the pixel that matches each right pixel at the lowest cost.
EXPORT void SG(doubled_matches)(const uint16_t *winners, const uint16_t *lowest, float *doubled, int64_t *best,
                                int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++, winners += width, lowest += width, doubled += width) {
        for (int64_t x = 0; x < width; x++) best[x] = -1;
        for (int64_t x = 0; x < width; x++) {
            const int64_t there = x - winners[x];
            if (there >= 0 && (best[there] < 0 || lowest[x] < lowest[best[there]])) best[there] = x;
        }
        for (int64_t x = 0; x < width; x++) {
            const int64_t there = x - winners[x];
            doubled[x] = there >= 0 && best[there] == x ? 0 : 1;
        }
    }
}
KERNEL(doubled_matches)

// scores[i] = baseline + the sum of the leaves that row i of `table` (rows, features) reaches. Node k sends a row to
// left[k] where its feature is <= threshold[k], or NaN and missing_left[k], else to right[k]; a leaf has feature -1.
// Rows pass through one tree after the other in blocks, so that the nodes of a tree stay in the cache.
EXPORT void SG(tree_scores)(const float *table, const int32_t *feature, const double *threshold,
                            const bool *missing_left, const int32_t *left, const int32_t *right, const double *value,
                            const int32_t *roots, float *scores, double baseline, int64_t rows, int64_t features,
                            int64_t, int64_t trees) {
    constexpr int64_t BLOCK = 1024;
    double totals[BLOCK];
    for (int64_t start = 0; start < rows; start += BLOCK) {
        const int64_t count = rows - start < BLOCK ? rows - start : BLOCK;
        for (int64_t i = 0; i < count; i++) totals[i] = baseline;
        for (int64_t tree = 0; tree < trees; tree++)
            for (int64_t i = 0; i < count; i++) {
                const float *row = table + (start + i) * features;
                int32_t node = roots[tree];
                while (feature[node] >= 0) {
                    const float found = row[feature[node]];
                    const bool goes_left = found != found ? missing_left[node] : found <= threshold[node];
                    node = right[node] + goes_left * (left[node] - right[node]);  // no branch to mispredict
                }
                totals[i] += value[node];
            }
        for (int64_t i = 0; i < count; i++) scores[start + i] = (float)totals[i];
    }
}
KERNEL(tree_scores)
