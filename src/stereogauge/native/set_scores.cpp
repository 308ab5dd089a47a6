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
    if (!positions_fit(pixels, count, height * width) || bins < 1) return false;
    Place at{width};
    for (int64_t i = 0; i < count; i++) {
        at.move(pixels[i]);
        const Neighbours n(at, height);
        const float *row = estimate + at.y * width;
        const double across = n.right > n.left ? n.right - n.left : 1;
        const double along = n.below > n.above ? n.below - n.above : 1;
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
constexpr int MOMENTS = 5;

// Per column the moments n, sum v, sum v^2, sum E, sum v E over the known pixels of rows y - 2 to y + 2, v = row - y.
// They are as many rows of `moments`; the column x is at x + 2, so that windows may reach beyond the sides of the
// image, where nothing is known. `values` and `moments` point to a column; V holds one or more columns from there.
template <class V>
INLINE void column_moments(const float *values, double *moments, int64_t from_row, int64_t to_row, int64_t width,
                           int64_t stride) {
    V n{}, nv{}, nvv{}, e{}, ve{};
    for (int64_t v = from_row; v <= to_row; v++) {
        const V none{}, one = none + 1.0, read = doubles<V>(values + v * width);
        const V weight = read == read ? one : none, value = read == read ? read : none;
        n += weight, nv += weight * (double)v, nvv += weight * (double)(v * v);
        e += value, ve += value * (double)v;
    }
    store(moments, n), store(moments + stride, nv), store(moments + 2 * stride, nvv);
    store(moments + 3 * stride, e), store(moments + 4 * stride, ve);
}

template <class V> INLINE V sum(const double *m) {
    return load<V>(m) + load<V>(m + 1) + load<V>(m + 2) + load<V>(m + 3) + load<V>(m + 4);
}
template <class V> INLINE V first_moment(const double *m) {
    return 2.0 * (load<V>(m + 4) - load<V>(m)) + load<V>(m + 3) - load<V>(m + 1);
}

// Slopes of the least-squares planes of the windows whose first column is at `n`, NaN where their pixels determine
// none. Moments are n^2 times the centred ones: whole numbers stay exact, and only the last operation divides.
template <class V> INLINE void slopes_of(const double *n, double *slope_x, double *slope_y, int64_t stride) {
    const double *v = n + stride, *vv = v + stride, *e = vv + stride, *ve = e + stride;
    const V suu = 4.0 * (load<V>(n + 4) + load<V>(n)) + load<V>(n + 3) + load<V>(n + 1);
    const V s = sum<V>(n), su = first_moment<V>(n), sv = sum<V>(v), suv = first_moment<V>(v), svv = sum<V>(vv);
    const V se = sum<V>(e), sue = first_moment<V>(e), sve = sum<V>(ve);
    const V cuu = s * suu - su * su, cuv = s * suv - su * sv, cvv = s * svv - sv * sv;
    const V cue = s * sue - su * se, cve = s * sve - sv * se, determinant = cuu * cvv - cuv * cuv;
    const V inverse = determinant > 0.5 ? 1.0 / determinant : V{} + (double)NAN;
    store(slope_x, (cue * cvv - cve * cuv) * inverse);
    store(slope_y, (cve * cuu - cue * cuv) * inverse);
}

// The slopes of the windows around columns `first` to `last` of a row.
INLINE void row_slopes(const float *values, double *moments, double *slopes, int64_t y, int64_t first, int64_t last,
                       int64_t height, int64_t width) {
    typedef vec<double, REGISTER / 8> Doubles;
    constexpr int64_t N = REGISTER / 8;
    typedef vec<double, 1> Single;
    const int64_t stride = width + 2 * RADIUS;
    for (int k = 0; k < MOMENTS; k++)
        for (int64_t side = 0; side < RADIUS; side++)
            moments[k * stride + side] = moments[k * stride + width + RADIUS + side] = 0;
    const int64_t low = first > RADIUS ? first - RADIUS : 0, high = last + RADIUS < width ? last + RADIUS : width - 1;
    const int64_t above = y < RADIUS ? -y : -RADIUS, below = y + RADIUS < height ? RADIUS : height - 1 - y;
    const float *row = values + y * width;
    int64_t x = low;
    for (; x + N <= high + 1; x += N)
        column_moments<Doubles>(row + x, moments + x + RADIUS, above, below, width, stride);
    for (; x <= high; x++) column_moments<Single>(row + x, moments + x + RADIUS, above, below, width, stride);
    for (x = first; x + N <= last + 1; x += N)
        slopes_of<Doubles>(moments + x, slopes + x, slopes + width + x, stride);
    for (; x <= last; x++) slopes_of<Single>(moments + x, slopes + x, slopes + width + x, stride);
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
        row_slopes(values, moments, slopes, at.y, first, last, height, width);
        for (int64_t j = i; j < stop; j++) {
            const double *slope = slopes + (pixels[j] - at.start), *plane = planes + 3 * (labels[j] - 1);
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
