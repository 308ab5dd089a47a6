// The census transform: each pixel becomes the bits "this neighbour is darker than I am".
//
// R. Zabih, J. Woodfill, "Non-parametric local transforms for computing visual correspondence", ECCV 1994.
#include "lanes.h"

// The first `width` columns of `codes` (bytes, height, code_width), from an image that is continued beyond its border,
// `stride` pixels to a row. `centre` is the place of the first pixel in it, `neighbours` (bytes, 8) are the places of
// its neighbours in the order of their bits. All bits of a byte are found at once, so that the loop over x becomes
// vectors of bytes.
template <class Pixel>
INLINE void census_rows(const Pixel *image, const int64_t *neighbours, uint8_t *codes, int64_t stride, int64_t centre,
                        int64_t width, int64_t bytes, int64_t height, int64_t code_width) {
    for (int64_t y = 0; y < height; y++) {
        const Pixel *row = image + y * stride, *own = row + centre;
        for (int64_t byte = 0; byte < bytes; byte++) {
            const int64_t *at = neighbours + 8 * byte;
            const Pixel *a = row + at[0], *b = row + at[1], *c = row + at[2], *d = row + at[3];
            const Pixel *e = row + at[4], *f = row + at[5], *g = row + at[6], *h = row + at[7];
            uint8_t *__restrict found = codes + (byte * height + y) * code_width;
            for (int64_t x = 0; x < width; x++) {
                const Pixel v = own[x];
                found[x] = (uint8_t)((a[x] < v ? 128 : 0) | (b[x] < v ? 64 : 0) | (c[x] < v ? 32 : 0) |
                                     (d[x] < v ? 16 : 0) | (e[x] < v ? 8 : 0) | (f[x] < v ? 4 : 0) |
                                     (g[x] < v ? 2 : 0) | (h[x] < v ? 1 : 0));
            }
        }
    }
}

#define CENSUS(name, Pixel)                                                                                          \
    EXPORT void SG(name)(const Pixel *image, const int64_t *neighbours, uint8_t *codes, int64_t stride,              \
                         int64_t centre, int64_t width, int64_t, int64_t bytes, int64_t height,                      \
                         int64_t code_width) {                                                                       \
        census_rows(image, neighbours, codes, stride, centre, width, bytes, height, code_width);                     \
    }                                                                                                                \
    KERNEL(name)
CENSUS(census_rows_u8, uint8_t)
CENSUS(census_rows_u16, uint16_t)
CENSUS(census_rows_f32, float)
