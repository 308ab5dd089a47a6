// Ray casting of synthetic worlds: nearest surface, its depth and its colour, for every pixel of a rectified camera.
//
// The camera is at (offset, 0, 0) and looks along +Z; the ray of pixel (x, y) is (offset, 0, 0) + z ((x - cx) / f,
// (y - cy) / f, 1), so that the parameter of the ray is the depth itself.
#include "kernel.h"

constexpr double PI = 3.14159265358979323846;
constexpr double OCTAVE_RATIO = 2.6, OCTAVE_DECAY = 0.75, FINEST_CELL = 3.5, ENVIRONMENT_CELLS = 14;

struct Vector {
    double x, y, z;
};
INLINE Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
INLINE Vector operator*(double factor, Vector v) { return {factor * v.x, factor * v.y, factor * v.z}; }
INLINE double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

// A surface as one row of 30 numbers; kernels/render.py names the same columns.
struct Surface {
    double kind;
    Vector origin, axis_u, axis_v, normal;
    double half_u, half_v, radius, cos_limit, lattice_period, lattice_bar;
    double colour_a[3], colour_b[3];
    double noise_cell, stripe_period, stripe_share, reflectivity, seed;
};
enum Kind { PATCH, DISC, SPHERE, CYLINDER };
static_assert(sizeof(Surface) == 30 * sizeof(double), "a row of the table");

// Depth at which a ray meets a plane inside the limits of a patch, disc or lattice; infinite where it does not.
INLINE double patch_depth(const Surface &s, double offset, Vector ray) {
    const double slope = dot(s.normal, ray);
    if (slope == 0) return INFINITY;
    const Vector p{s.origin.x - offset, s.origin.y, s.origin.z};
    const double z = dot(s.normal, p) / slope;
    if (z <= 0) return INFINITY;
    const Vector q = z * ray - p;
    const double u = dot(q, s.axis_u), v = dot(q, s.axis_v);
    if (s.kind == DISC) {
        const double across = u / s.half_u, along = v / s.half_v;
        return across * across + along * along <= 1 ? z : INFINITY;
    }
    if (fabs(u) > s.half_u || fabs(v) > s.half_v) return INFINITY;
    const double period = s.lattice_period;
    if (period > 0) {
        const double to_bar_u = fabs(u - period * floor(u / period + 0.5));
        const double to_bar_v = fabs(v - period * floor(v / period + 0.5));
        if ((to_bar_v < to_bar_u ? to_bar_v : to_bar_u) > 0.5 * s.lattice_bar) return INFINITY;
    }
    return z;
}

// Sphere: |P - C| = r. Cylinder: the same without the component along its axis. Only the part that faces the normal
// counts.
INLINE double quadric_depth(const Surface &s, double offset, Vector ray) {
    const Vector p{s.origin.x - offset, s.origin.y, s.origin.z};
    Vector d = ray, e = p;
    double along = 0, shift = 0;
    if (s.kind == CYLINDER) {
        along = dot(ray, s.axis_v), shift = dot(p, s.axis_v);
        d = ray - along * s.axis_v, e = p - shift * s.axis_v;
    }
    const double a = dot(d, d), b = dot(d, e), c = dot(e, e) - s.radius * s.radius;
    const double square = b * b - a * c;
    if (square < 0 || a == 0) return INFINITY;
    const double z = (b - sqrt(square)) / a;
    if (z <= 0) return INFINITY;
    if (dot(z * d - e, s.normal) < s.cos_limit * s.radius) return INFINITY;
    if (s.kind == CYLINDER && fabs(z * along - shift) > s.half_v) return INFINITY;
    return z;
}

// The surfaces of a world, with the limits (x from, x to, y from, y to) in pixels of what the camera may see of each,
// and room for the numbers of those in the present row.
struct World {
    const double *table, *bounds;
    int64_t *indices;
    int64_t number, candidates = 0;

    void enter_row(int64_t y) {
        candidates = 0;
        for (int64_t i = 0; i < number; i++)
            if (bounds[4 * i + 2] <= y && y <= bounds[4 * i + 3]) indices[candidates++] = i;
    }

    const Surface &surface(int64_t number) const { return *(const Surface *)(table + 30 * number); }

    double nearest(double column, double offset, Vector ray, int64_t &index) const {
        double depth = INFINITY;
        index = -1;
        for (int64_t i = 0; i < candidates; i++) {
            const int64_t k = indices[i];
            if (column < bounds[4 * k] || column > bounds[4 * k + 1]) continue;
            const Surface &s = surface(k);
            const double z = s.kind <= DISC ? patch_depth(s, offset, ray) : quadric_depth(s, offset, ray);
            if (z < depth) depth = z, index = k;
        }
        return depth;
    }
};

// A number in [0, 1) that depends on a lattice point and a seed alone.
INLINE double corner(int64_t x, int64_t y, int64_t z, int64_t seed) {
    uint32_t h = (uint32_t)x * 0x8DA6B343u ^ (uint32_t)y * 0xD8163841u ^ (uint32_t)z * 0xCB1AB31Fu;
    h ^= (uint32_t)seed * 0x9E3779B1u;
    h = (h ^ h >> 15) * 0x2C1B3C6Du;
    h = (h ^ h >> 12) * 0x297A2D39u;
    return (h ^ h >> 15) * (1 / 4294967296.0);
}

// The four corners of the face of a lattice cell, blended.
INLINE double blend_face(int64_t x, int64_t y, int64_t z, double tx, double ty, int64_t seed) {
    const double a = corner(x, y, z, seed), b = corner(x + 1, y, z, seed);
    const double c = corner(x, y + 1, z, seed), d = corner(x + 1, y + 1, z, seed);
    const double upper = a + tx * (b - a), lower = c + tx * (d - c);
    return upper + ty * (lower - upper);
}

// 6t^5 - 15t^4 + 10t^3, whose second derivative is continuous from cell to cell.
INLINE double blend(double t) { return t * t * t * (t * (t * 6 - 15) + 10); }

// Random values at the points of a lattice, blended in between.
INLINE double value_noise(Vector p, int64_t seed) {
    const double fx = floor(p.x), fy = floor(p.y), fz = floor(p.z);
    const int64_t x = (int64_t)fx, y = (int64_t)fy, z = (int64_t)fz;
    const double tx = blend(p.x - fx), ty = blend(p.y - fy), tz = blend(p.z - fz);
    const double near = blend_face(x, y, z, tx, ty, seed);
    return near + tz * (blend_face(x, y, z + 1, tx, ty, seed) - near);
}

// In [0, 1]: octaves of noise that stick to the points of the surface, blended with sinusoidal stripes along axis u. An
// octave fades out before its cells become smaller than FINEST_CELL pixels. The fading depends on depth alone, which
// both views of a point share, so that it adds no difference between them.
INLINE double texture(const Surface &s, Vector p, double focal) {
    double value = 0, amplitude = 1, total = 0, cell = s.noise_cell;
    int64_t seed = (int64_t)s.seed;
    const double along = dot(p - s.origin, s.axis_u);
    for (double pixels = cell * focal / p.z; pixels > FINEST_CELL; pixels /= OCTAVE_RATIO) {
        // Turned for each octave, so that the lattice of the noise never shows along the axes of the image.
        p = {0.36 * p.x + 0.48 * p.y - 0.8 * p.z, -0.8 * p.x + 0.6 * p.y, 0.48 * p.x + 0.64 * p.y + 0.6 * p.z};
        const double fading = 0.5 * (pixels - FINEST_CELL), weight = amplitude * (fading < 1 ? fading : 1);
        value += weight * value_noise({p.x / cell, p.y / cell, p.z / cell}, seed);
        total += weight;
        amplitude *= OCTAVE_DECAY;
        cell /= OCTAVE_RATIO;
        seed += 101;
    }
    value = total > 0 ? value / total : 0.5;
    value = 0.5 + 1.8 * (value - 0.5);
    value = value < 0 ? 0 : value > 1 ? 1 : value;
    if (s.stripe_period > 0) {
        const double wave = 0.5 + 0.5 * sin(2 * PI * along / s.stripe_period);
        value = (1 - s.stripe_share) * value + s.stripe_share * wave;
    }
    return value;
}

// Diffuse colour under one fixed lamp, plus what a mirror shows of an environment at infinity.
INLINE void shade(const Surface &s, double offset, Vector ray, double z, double focal, float *colour) {
    const Vector p{offset + z * ray.x, z * ray.y, z};
    Vector n = s.normal;
    if (s.kind >= SPHERE) {
        n = p - s.origin;
        if (s.kind == CYLINDER) n = n - dot(n, s.axis_v) * s.axis_v;
        n = {n.x / s.radius, n.y / s.radius, n.z / s.radius};
    }
    if (n.x * ray.x + n.y * ray.y + n.z > 0) n = {-n.x, -n.y, -n.z};
    const double facing = -0.45 * n.x - 0.6 * n.y - 0.66 * n.z;
    const double light = 0.7 + 0.3 * (facing > 0 ? facing : 0), value = texture(s, p, focal), mirror = s.reflectivity;
    double seen = 0;
    if (mirror > 0) {
        const Vector m = ray - 2 * (n.x * ray.x + n.y * ray.y + n.z) * n;
        const double scale = ENVIRONMENT_CELLS / sqrt(dot(m, m));
        seen = 40 + 190 * value_noise({m.x * scale, m.y * scale, m.z * scale}, (int64_t)s.seed + 977);
    }
    for (int channel = 0; channel < 3; channel++) {
        const double from = s.colour_a[channel], diffuse = light * (from + value * (s.colour_b[channel] - from));
        colour[channel] = (float)(mirror > 0 ? (1 - mirror) * diffuse + mirror * seen : diffuse);
    }
}

// Rows `first` to before `last` of what the camera sees: depth (infinite where nothing is hit), label (row of the
// table, -1 where nothing is hit) and colour.
EXPORT void SG(render_rows)(const double *surfaces, const double *bounds, double offset, double focal, double centre_x,
                            double centre_y, int64_t first, int64_t last, int64_t *indices, double *depth,
                            int32_t *labels, float *colours, int64_t number, int64_t height, int64_t width) {
    World world{surfaces, bounds, indices, number};
    for (int64_t y = first > 0 ? first : 0; y < last && y < height; y++) {
        world.enter_row(y);
        for (int64_t x = 0; x < width; x++) {
            const Vector ray{(x - centre_x) / focal, (y - centre_y) / focal, 1};
            const int64_t at = y * width + x;
            int64_t index;
            depth[at] = world.nearest((double)x, offset, ray, index);
            labels[at] = (int32_t)index;
            colours[3 * at] = colours[3 * at + 1] = colours[3 * at + 2] = 0;
            if (index >= 0) shade(world.surface(index), offset, ray, depth[at], focal, colours + 3 * at);
        }
    }
}
KERNEL(render_rows)

// Rows `first` to before `last`: whether the point that is seen from `offset` projects into the image of the camera at
// `other`, with nothing before it. `bounds` are those of the camera at `other`.
EXPORT void SG(visible_rows)(const double *surfaces, const double *bounds, double offset, double other, double focal,
                             double centre_x, double centre_y, int64_t first, int64_t last, int64_t *indices,
                             const double *depth, bool *visible, int64_t number, int64_t height, int64_t width) {
    World world{surfaces, bounds, indices, number};
    for (int64_t y = first > 0 ? first : 0; y < last && y < height; y++) {
        world.enter_row(y);
        for (int64_t x = 0; x < width; x++) {
            const double z = depth[y * width + x];
            const Vector ray{(x - centre_x) / focal + (offset - other) / z, (y - centre_y) / focal, 1};
            const double column = ray.x * focal + centre_x;
            int64_t index;
            visible[y * width + x] = column >= -0.5 && column < width - 0.5 &&
                                     world.nearest(column, other, ray, index) > z * (1 - 1e-9);
        }
    }
}
KERNEL(visible_rows)
