// What an estimate scores on the pixels of a set: ascending flat positions (row * width + column) of a map.
#include "lanes.h"

constexpr double PI = 3.14159265358979323846;

// Whether positions ascend and lie inside the map: the functions below read at them without looking again.
INLINE bool positions_fit(const int32_t *pixels, int64_t count, int64_t area) {
    bool ascending = true;
    for (int64_t i = 1; i < count; i++) ascending &= pixels[i - 1] <= pixels[i];
    return count == 0 || (ascending && pixels[0] >= 0 && pixels[count - 1] < area);
}

// Whether labels number the planes from 1.
INLINE bool labels_fit(const int16_t *labels, int64_t count, int64_t planes) {
    int16_t lowest = 1, highest = 1;
    for (int64_t i = 0; i < count; i++) {
        lowest = labels[i] < lowest ? labels[i] : lowest;
        highest = labels[i] > highest ? labels[i] : highest;
    }
    return count == 0 || (lowest >= 1 && highest <= planes);
}

// Row and column of ascending positions, without a division per pixel.
struct Place {
    int64_t width, x = 0, y = 0, start = 0;

    void move(int64_t position) {
        for (; position - start >= width; y++) start += width;
        x = position - start;
    }
};

// The neighbours across which a central difference is taken, one-sided on the rim of the image.
struct Neighbours {
    int64_t left, right, above, below;

    Neighbours(const Place &at, int64_t height)
        : left(at.x > 0 ? at.x - 1 : 0), right(at.x + 1 < at.width ? at.x + 1 : at.x), above(at.y > 0 ? at.y - 1 : 0),
          below(at.y + 1 < height ? at.y + 1 : at.y) {}
};

// f = |G| dist(x, discontinuity) where G = |grad D| - |grad E| < 0, else G dist(x, outside of the edge zone); NaN where
// E or a neighbour that grad E needs is missing. Each operation is rounded by itself in single precision, as in the
// gradient of the ground truth: equal maps must have exactly equal magnitudes.
EXPORT bool SG(edge_fuzziness)(const float *estimate, const int32_t *pixels, const float *gradient,
                               const float *to_discontinuity, const float *to_outside, float *fuzziness, int64_t height,
                               int64_t width, int64_t count) {
    if (!positions_fit(pixels, count, height * width)) return false;
    Place at{width};
    for (int64_t i = 0; i < count; i++) {
        at.move(pixels[i]);
        const Neighbours n(at, height);
        const float *row = estimate + at.y * width;
        const float along_x = (row[n.right] - row[n.left]) * (n.right - n.left == 2 ? 0.5f : 1.0f);
        const float along_y = (estimate[n.below * width + at.x] - estimate[n.above * width + at.x]) *
                              (n.below - n.above == 2 ? 0.5f : 1.0f);
        const float excess = gradient[i] - sqrtf(along_x * along_x + along_y * along_y);
        const float cost = excess < 0 ? -excess * to_discontinuity[i] : excess * to_outside[i];
        fuzziness[i] = row[at.x] == row[at.x] ? cost : NAN;
    }
    return true;
}
KERNEL(edge_fuzziness)

// How many of the directions atan2(dy, dx) of the gradient fall into each bin, the first one centred on -pi. A pixel
// without an estimate, with a gradient of 0, or beside a missing estimate has no direction. `counts` begins as 0.
EXPORT bool SG(direction_counts)(const float *estimate, const int32_t *pixels, int64_t *counts, int64_t height,
                                 int64_t width, int64_t count, int64_t bins) {
    if (!positions_fit(pixels, count, height * width)) return false;
    Place at{width};
    for (int64_t i = 0; i < count; i++) {
        at.move(pixels[i]);
        const Neighbours n(at, height);
        const float *row = estimate + at.y * width;
        const double across = n.right > n.left ? n.right - n.left : 1, along = n.below > n.above ? n.below - n.above : 1;
        const double along_x = (row[n.right] - row[n.left]) / across;
        const double along_y = (estimate[n.below * width + at.x] - estimate[n.above * width + at.x]) / along;
        if (!(along_x * along_x + along_y * along_y > 0) || row[at.x] != row[at.x]) continue;
        const double turn = atan2(along_y, along_x) / (2 * PI) + 0.5;
        const int64_t bin = (int64_t)floor(turn * bins + 0.5);
        counts[bin % bins]++;
    }
    return true;
}
KERNEL(direction_counts)

// |Laplacian| of E over the four neighbours, NaN where one of the five is missing. On the rim of the image the second
// difference across it does not exist and is left out.
EXPORT bool SG(second_differences)(const float *values, const int32_t *pixels, float *bump, int64_t height,
                                   int64_t width, int64_t count) {
    if (!positions_fit(pixels, count, height * width)) return false;
    Place at{width};
    for (int64_t i = 0; i < count; i++) {
        at.move(pixels[i]);
        const float *here = values + at.y * width + at.x, centre = *here;
        float laplacian = centre - centre;
        if (at.x > 0 && at.x < width - 1) laplacian += here[-1] - centre + (here[1] - centre);
        if (at.y > 0 && at.y < height - 1) laplacian += here[-width] - centre + (here[width] - centre);
        bump[i] = fabsf(laplacian);
    }
    return true;
}
KERNEL(second_differences)

// Signed distance (E - a x - b y - c) / sqrt(1 + a^2 + b^2) of each point to its plane, NaN where E is missing. `scale`
// is room for one number per plane.
EXPORT bool SG(plane_distances)(const float *values, const int32_t *pixels, const int16_t *labels, const double *planes,
                                double *scale, float *distance, int64_t height, int64_t width, int64_t count,
                                int64_t number) {
    if (!positions_fit(pixels, count, height * width) || !labels_fit(labels, count, number)) return false;
    for (int64_t k = 0; k < number; k++) {
        const double *plane = planes + 3 * k;
        scale[k] = 1.0 / sqrt(1.0 + plane[0] * plane[0] + plane[1] * plane[1]);
    }
    Place at{width};
    for (int64_t i = 0; i < count; i++) {
        at.move(pixels[i]);
        const double *plane = planes + 3 * (labels[i] - 1);
        const double away = values[pixels[i]] - plane[0] * at.x - plane[1] * at.y - plane[2];
        distance[i] = (float)(away * scale[labels[i] - 1]);
    }
    return true;
}
KERNEL(plane_distances)

constexpr int64_t RADIUS = 2;  // of the 5 x 5 windows in which normals are fitted
enum { COUNT, V, VV, E, VE, MOMENTS };

// Per column the moments n, sum v, sum v^2, sum E, sum v E over the known pixels of rows y - 2 to y + 2, v = row - y.
// They are as many rows of `moments`; the column x is at x + 2, so that windows may reach beyond the sides of the
// image, where nothing is known.
INLINE void column_moments(const float *values, double *moments, int64_t y, int64_t first, int64_t last, int64_t height,
                           int64_t width) {
    const int64_t stride = width + 2 * RADIUS;
    for (int k = 0; k < MOMENTS; k++)
        for (int64_t x = first; x <= last + 2 * RADIUS; x++) moments[k * stride + x] = 0;
    const int64_t low = first > RADIUS ? first - RADIUS : 0, high = last + RADIUS < width ? last + RADIUS : width - 1;
    const int64_t bottom = y + RADIUS < height ? y + RADIUS : height - 1;
    for (int64_t row = y > RADIUS ? y - RADIUS : 0; row <= bottom; row++) {
        const double v = (double)(row - y), vv = v * v;
        const float *line = values + row * width + low;
        double *column = moments + low + RADIUS;
        const int64_t length = high - low + 1;
        double *__restrict n = column + COUNT * stride, *__restrict nv = column + V * stride;
        double *__restrict nvv = column + VV * stride, *__restrict e = column + E * stride;
        double *__restrict ve = column + VE * stride;
        for (int64_t i = 0; i < length; i++) {
            const double weight = line[i] == line[i] ? 1.0 : 0.0, value = line[i] == line[i] ? line[i] : 0.0;
            n[i] += weight;
            nv[i] += weight * v;
            nvv[i] += weight * vv;
            e[i] += value;
            ve[i] += value * v;
        }
    }
}

// Slopes of the least-squares planes of the windows around columns `first` to `last`, NaN where their pixels determine
// none. Moments are n^2 times the centred ones: whole numbers stay exact, and only the last operation divides.
INLINE void row_slopes(const double *moments, double *__restrict slope_x, double *__restrict slope_y, int64_t first,
                       int64_t last, int64_t width) {
    const int64_t stride = width + 2 * RADIUS, length = last - first + 1;
    const double *n = moments + first, *v = n + V * stride, *vv = n + VV * stride, *e = n + E * stride;
    const double *ve = n + VE * stride;
    const auto sum = [](const double *m) { return m[0] + m[1] + m[2] + m[3] + m[4]; };
    const auto first_moment = [](const double *m) { return 2.0 * (m[4] - m[0]) + m[3] - m[1]; };
    for (int64_t i = 0; i < length; i++) {
        const double s = sum(n + i), su = first_moment(n + i), suu = 4.0 * (n[i + 4] + n[i]) + n[i + 3] + n[i + 1];
        const double sv = sum(v + i), suv = first_moment(v + i), svv = sum(vv + i);
        const double se = sum(e + i), sue = first_moment(e + i), sve = sum(ve + i);
        const double cuu = s * suu - su * su, cuv = s * suv - su * sv, cvv = s * svv - sv * sv;
        const double cue = s * sue - su * se, cve = s * sve - sv * se;
        const double determinant = cuu * cvv - cuv * cuv;
        const double inverse = determinant > 0.5 ? 1.0 / determinant : NAN;
        slope_x[i] = (cue * cvv - cve * cuv) * inverse;
        slope_y[i] = (cve * cuu - cue * cuv) * inverse;
    }
}

// Degrees between the normals (-a, -b, 1) and (-A, -B, 1), 0 to 90.
INLINE double angle(double a, double b, double plane_a, double plane_b) {
    const double u = a - plane_a, v = b - plane_b, w = a * plane_b - b * plane_a;
    return atan2(sqrt(u * u + v * v + w * w), fabs(a * plane_a + b * plane_b + 1.0)) * (180 / PI);
}

// Degrees between the least-squares normal of E over 5 x 5 pixels and the normal of the plane, NaN where E is missing
// or its known neighbours determine no plane. The pixels of a row share the moments of its columns; `moments` and
// `slopes` (two rows) are room for them.
EXPORT bool SG(normal_angles)(const float *values, const int32_t *pixels, const int16_t *labels, const double *planes,
                              double *moments, double *slopes, float *angles, int64_t height, int64_t width,
                              int64_t count, int64_t number) {
    if (!positions_fit(pixels, count, height * width) || !labels_fit(labels, count, number)) return false;
    Place at{width};
    for (int64_t i = 0, stop; i < count; i = stop) {
        at.move(pixels[i]);
        for (stop = i; stop < count && pixels[stop] - at.start < width;) stop++;
        const int64_t first = at.x, last = pixels[stop - 1] - at.start;
        column_moments(values, moments, at.y, first, last, height, width);
        row_slopes(moments, slopes, slopes + width, first, last, width);
        for (int64_t j = i; j < stop; j++) {
            const double *slope = slopes + (pixels[j] - at.start - first), *plane = planes + 3 * (labels[j] - 1);
            const float value = values[pixels[j]];
            angles[j] = value == value ? (float)angle(slope[0], slope[width], plane[0], plane[1]) : NAN;
        }
    }
    return true;
}
KERNEL(normal_angles)

// Sum, in double precision and in order, and number of the values that are not NaN.
template <class T> INLINE int64_t sum_and_count(const T *values, double *sum, int64_t length) {
    double total = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < length; i++) {
        const bool known = values[i] == values[i];
        total += known ? values[i] : 0;
        count += known;
    }
    *sum = total;
    return count;
}

EXPORT int64_t SG(sum_and_count_f32)(const float *values, double *sum, int64_t length) {
    return sum_and_count(values, sum, length);
}
KERNEL(sum_and_count_f32)

EXPORT int64_t SG(sum_and_count_f64)(const double *values, double *sum, int64_t length) {
    return sum_and_count(values, sum, length);
}
KERNEL(sum_and_count_f64)
