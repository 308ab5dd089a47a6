// Planes d = a x + b y + c in a disparity map: hypotheses, fits, and the regions that may lie on one.
#include "lanes.h"

constexpr double PI = 3.14159265358979323846;

// Change of the direction atan2(y, x) of a vector field, in rad per px: the length of its forward differences, each
// wrapped to at most pi; 0 across the last row and column. `angles` is room for two rows.
EXPORT void SG(direction_change)(const float *along_x, const float *along_y, float *change, float *angles,
                                 int64_t height, int64_t width) {
    const float turn = 2 * (float)PI;
    float *upper = angles, *lower = angles + width;
    for (int64_t y = 0; y <= height; y++) {
        if (y < height)
            for (int64_t x = 0; x < width; x++) lower[x] = atan2f(along_y[y * width + x], along_x[y * width + x]);
        else memcpy(lower, upper, width * sizeof(float));
        for (int64_t x = 0; x < width && y > 0; x++) {
            float right = fabsf(upper[x + 1 < width ? x + 1 : x] - upper[x]), down = fabsf(lower[x] - upper[x]);
            right = turn - right < right ? turn - right : right;
            down = turn - down < down ? turn - down : down;
            change[(y - 1) * width + x] = sqrtf(right * right + down * down);
        }
        float *swapped = upper;
        upper = lower, lower = swapped;
    }
}
KERNEL(direction_change)

// Points with |a x + b y + c - d| <= tolerance, in single precision.
static int64_t inliers(const float *x, const float *y, const float *d, float a, float b, float c, float tolerance,
                       int64_t points) {
    constexpr int N = REGISTER / 4;
    constexpr int64_t BLOCK = (int64_t)N << 24;  // a lane counts at most 2^24
    typedef vec<float, N> Floats;
    int64_t count = 0, i = 0;
    while (i + N <= points) {
        vec<int32_t, N> near{};
        const int64_t end = points - i < BLOCK ? points - N : i + BLOCK - N;
        for (; i <= end; i += N) {
            const Floats distance = load<Floats>(x + i) * a + load<Floats>(y + i) * b + c - load<Floats>(d + i);
            near -= larger(distance, -distance) <= tolerance;
        }
        for (int lane = 0; lane < N; lane++) count += near[lane];
    }
    for (; i < points; i++) count += fabsf(x[i] * a + y[i] * b + c - d[i]) <= tolerance;
    return count;
}

// The plane through a triple of points that has most points within the tolerance, the first of equal ones: its number
// of inliers, or -1 where a triple names a point that does not exist. Points on one line have no plane.
EXPORT int64_t SG(best_hypothesis)(const float *x, const float *y, const float *d, const int64_t *triples,
                                   double tolerance, double *plane, int64_t points, int64_t number) {
    int64_t most = 0;
    for (int64_t i = 0; i < number; i++) {
        const int64_t p = triples[3 * i], q = triples[3 * i + 1], r = triples[3 * i + 2];
        if (p < 0 || q < 0 || r < 0 || p >= points || q >= points || r >= points) return -1;
        const float x1 = x[q] - x[p], y1 = y[q] - y[p], d1 = d[q] - d[p];
        const float x2 = x[r] - x[p], y2 = y[r] - y[p], d2 = d[r] - d[p];
        const float determinant = x1 * y2 - x2 * y1;
        if (fabsf(determinant) < 0.5f) continue;
        const float a = (d1 * y2 - d2 * y1) / determinant, b = (x1 * d2 - x2 * d1) / determinant;
        const float c = d[p] - a * x[p] - b * y[p];
        const int64_t count = inliers(x, y, d, a, b, c, (float)tolerance, points);
        if (count <= most) continue;
        most = count;
        plane[0] = a, plane[1] = b, plane[2] = c;
    }
    return most;
}
KERNEL(best_hypothesis)

// Least squares over the points within the tolerance of a plane, which is replaced by the fitted one; returns their
// number. Points on one line determine no plane: the given one stays. Coordinates count from the first point. Sums are
// kept in four lanes on every processor, so that all of them round alike.
EXPORT int64_t SG(fit_near_plane)(const float *x, const float *y, const float *d, double tolerance, double *plane,
                                  int64_t points) {
    typedef vec<double, 4> Doubles;
    const double a = plane[0], b = plane[1], c = plane[2];
    const double origin_x = points ? x[0] : 0, origin_y = points ? y[0] : 0;
    enum { COUNT, X, Y, D, XX, XY, YY, XD, YD, SUMS };
    Doubles sum[SUMS] = {};
    const auto add = [&](const float *xs, const float *ys, const float *ds) {
        const Doubles none{}, u = doubles<Doubles>(xs), v = doubles<Doubles>(ys), e = doubles<Doubles>(ds);
        const Doubles distance = u * a + v * b + c - e;
        const auto near = larger(distance, -distance) <= tolerance;
        const Doubles x0 = near ? u - origin_x : none, y0 = near ? v - origin_y : none, d0 = near ? e : none;
        sum[COUNT] += near ? none + 1.0 : none;
        sum[X] += x0, sum[Y] += y0, sum[D] += d0;
        sum[XX] += x0 * x0, sum[XY] += x0 * y0, sum[YY] += y0 * y0;
        sum[XD] += x0 * d0, sum[YD] += y0 * d0;
    };
    int64_t i = 0;
    for (; i + 4 <= points; i += 4) add(x + i, y + i, d + i);
    float rest[3][4] = {{}, {}, {NAN, NAN, NAN, NAN}};  // places beyond the last point are near no plane
    for (int lane = 0; i < points; i++, lane++) rest[0][lane] = x[i], rest[1][lane] = y[i], rest[2][lane] = d[i];
    add(rest[0], rest[1], rest[2]);
    double s[SUMS];
    for (int k = 0; k < SUMS; k++) s[k] = (sum[k][0] + sum[k][1]) + (sum[k][2] + sum[k][3]);
    const double n = s[COUNT];
    if (n < 3) return (int64_t)n;
    const double cxx = s[XX] - s[X] * s[X] / n, cxy = s[XY] - s[X] * s[Y] / n, cyy = s[YY] - s[Y] * s[Y] / n;
    const double cxd = s[XD] - s[X] * s[D] / n, cyd = s[YD] - s[Y] * s[D] / n;
    const double determinant = cxx * cyy - cxy * cxy;
    if (!(determinant > 1e-6 * (cxx > cyy ? cxx : cyy))) return (int64_t)n;
    const double slope_x = (cxd * cyy - cyd * cxy) / determinant, slope_y = (cyd * cxx - cxd * cxy) / determinant;
    plane[0] = slope_x, plane[1] = slope_y;
    plane[2] = (s[D] - slope_x * s[X] - slope_y * s[Y]) / n - slope_x * origin_x - slope_y * origin_y;
    return (int64_t)n;
}
KERNEL(fit_near_plane)

// (x, y, d) of the points within the tolerance of a plane go to `near` (3 rows), the others to `far`, in the given
// order; returns how many are near. Both are written and one is kept: a branch would be mispredicted at every edge of
// the surface.
EXPORT int64_t SG(split_by_plane)(const float *x, const float *y, const float *d, double a, double b, double c,
                                  double tolerance, float *near, float *far, int64_t points) {
    int64_t inside = 0, outside = 0;
    for (int64_t i = 0; i < points; i++) {
        near[inside] = far[outside] = x[i];
        near[points + inside] = far[points + outside] = y[i];
        near[2 * points + inside] = far[2 * points + outside] = d[i];
        const bool close = fabs(a * x[i] + b * y[i] + c - d[i]) <= tolerance;
        inside += close;
        outside += !close;
    }
    return inside;
}
KERNEL(split_by_plane)

// |D - a x - b y - c| of every pixel.
EXPORT void SG(distances_along_disparity)(const float *disparity, double a, double b, double c, float *distance,
                                          int64_t height, int64_t width) {
    for (int64_t y = 0; y < height; y++) {
        const double constant = b * y + c;
        const float *from = disparity + y * width;
        float *to = distance + y * width;
        for (int32_t x = 0; x < (int32_t)width; x++) to[x] = (float)fabs(from[x] - a * x - constant);
    }
}
KERNEL(distances_along_disparity)

// The pixel after the last one of the run of equal labels that begins at x.
template <class T> INLINE int64_t run_end(const T *row, int64_t x, int64_t width) {
    const T label = row[x];
    while (x < width && row[x] == label) x++;
    return x;
}

// Per label from 1 on: pixels, sum of squared distances, pixels of the core; false where a label is outside the table,
// which begins as 0.
EXPORT bool SG(part_statistics)(const int32_t *labels, const float *distance, const bool *core, double *found,
                                int64_t height, int64_t width, int64_t number) {
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0, end; x < width; x = end) {
            const int32_t label = labels[y * width + x];
            end = run_end(labels + y * width, x, width);
            if (label < 0 || label >= number) return false;
            if (label == 0) continue;
            double squares = found[3 * label + 1];
            int64_t inside = 0;
            for (int64_t at = y * width + x; at < y * width + end; at++) {
                squares += distance[at] * distance[at];
                inside += core[at];
            }
            found[3 * label] += end - x;
            found[3 * label + 1] = squares;
            found[3 * label + 2] += inside;
        }
    return true;
}
KERNEL(part_statistics)

// The terms (1, u, v, u^2, u v, v^2) of a quadratic in registers of N numbers.
template <int N> struct Terms {
    typedef vec<double, N> Part;
    static constexpr int PARTS = (6 + N - 1) / N;
    Part part[PARTS] = {};

    static Terms of(double u, double v) {
        if constexpr (N == 4) return {{Part{1, u, v, u * u}, Part{u * v, v * v, 0, 0}}};
        else return {{Part{1, u}, Part{v, u * u}, Part{u * v, v * v}}};
    }

    // Add the products of the terms with a factor, from the part on that holds number `first`.
    void add(const Terms &terms, double factor, int first) {
        for (int p = first / N; p < PARTS; p++) part[p] += terms.part[p] * factor;
    }

    double at(int k) const { return part[k / N][k % N]; }
};

// Normal equations of the least-squares quadratic over a mask, of the terms t = (1, u, v, u^2, u v, v^2) with
// u = (x - centre_x) / scale, v = (y - centre_y) / scale and e = D - level: matrix = sum of t t^T, right = sum of t e,
// squares = sum of e^2; returns the number of pixels. The first three rows and columns are those of the plane.
EXPORT int64_t SG(quadratic_moments)(const float *disparity, const bool *mask, double centre_x, double centre_y,
                                     double scale, double level, double *matrix, double *right, double *squares,
                                     int64_t height, int64_t width) {
    typedef Terms<REGISTER >= 32 ? 4 : 2> Sums;
    Sums rows[6], products;
    double squared = 0;
    int64_t count = 0;
    for (int64_t y = 0; y < height; y++) {
        const double v = (y - centre_y) / scale;
        for (int64_t x = 0; x < width; x++) {
            if (!mask[y * width + x]) continue;
            const double u = (x - centre_x) / scale, e = disparity[y * width + x] - level;
            const Sums terms = Sums::of(u, v);
            rows[0].add(terms, 1, 0);
            rows[1].add(terms, u, 1);
            rows[2].add(terms, v, 2);
            rows[3].add(terms, u * u, 3);
            rows[4].add(terms, u * v, 4);
            rows[5].add(terms, v * v, 5);
            products.add(terms, e, 0);
            squared += e * e;
            count++;
        }
    }
    for (int i = 0; i < 6; i++) {
        for (int j = i; j < 6; j++) matrix[6 * i + j] = matrix[6 * j + i] = rows[i].at(j);
        right[i] = products.at(i);
    }
    *squares = squared;
    return count;
}
KERNEL(quadratic_moments)

// Labels of the full map from those of a map of every `step`-th pixel. A known pixel takes the plane that is nearest to
// it along the disparity: its own cell's within twice the tolerance, or one of a cell at most `reach` away within the
// tolerance; `labels` begins as 0. `beside` is room for the different labels around a cell. False where a label has no
// plane.
EXPORT bool SG(nearest_planes)(const float *disparity, const bool *known, const int16_t *coarse, const double *planes,
                               int64_t step, int64_t reach, double tolerance, int64_t *beside, int16_t *labels,
                               int64_t height, int64_t width, int64_t rows, int64_t columns, int64_t number,
                               int64_t cells) {
    if (step < 1 || reach < 0 || cells < (2 * reach + 1) * (2 * reach + 1)) return false;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++) {
            int64_t found = 0;
            const int64_t last_row = row + reach < rows ? row + reach : rows - 1;
            const int64_t last_column = column + reach < columns ? column + reach : columns - 1;
            for (int64_t r = row > reach ? row - reach : 0; r <= last_row; r++)
                for (int64_t c = column > reach ? column - reach : 0; c <= last_column; c++) {
                    const int64_t label = coarse[r * columns + c];
                    if (label < 0 || label > number) return false;
                    bool is_new = label != 0;
                    for (int64_t i = 0; i < found; i++) is_new &= beside[i] != label;
                    if (is_new) beside[found++] = label;
                }
            const int64_t own = coarse[row * columns + column];
            const int64_t bottom = row == rows - 1 || (row + 1) * step > height ? height : (row + 1) * step;
            const int64_t right = column == columns - 1 || (column + 1) * step > width ? width : (column + 1) * step;
            for (int64_t y = row * step; found && y < bottom; y++)
                for (int64_t x = column * step; x < right; x++) {
                    const int64_t at = y * width + x;
                    if (!known[at]) continue;
                    double smallest = INFINITY;
                    for (int64_t i = 0; i < found; i++) {
                        const double *plane = planes + 3 * (beside[i] - 1);
                        const double distance = fabs(disparity[at] - plane[0] * x - plane[1] * y - plane[2]);
                        const double limit = beside[i] == own ? 2 * tolerance : tolerance;
                        if (!(distance <= limit && distance < smallest)) continue;
                        smallest = distance;
                        labels[at] = (int16_t)beside[i];
                    }
                }
        }
    return true;
}
KERNEL(nearest_planes)
