#include "media/helper/codecs.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "media/helper/gif.h"
#include "media/helper/headers.h"
#include "media/helper/ppm.h"

/* ---- loading ---- */

struct codec_symbol {
    const char *name;
    size_t at; /* in struct codecs */
};

#define JPEG_SYMBOL(name)                                                                          \
    {                                                                                              \
#name, offsetof(struct codecs, jpeg.name)                                                  \
    }
#define PNG_SYMBOL(name)                                                                           \
    {                                                                                              \
#name, offsetof(struct codecs, png.name)                                                   \
    }
#define WEBP_SYMBOL(name)                                                                          \
    {                                                                                              \
#name, offsetof(struct codecs, webp.name)                                                  \
    }

static const struct codec_symbol JPEG[] = {
    JPEG_SYMBOL(tjInitDecompress), JPEG_SYMBOL(tjInitCompress), JPEG_SYMBOL(tjDecompressHeader3),
    JPEG_SYMBOL(tjDecompress2),    JPEG_SYMBOL(tjCompress2),    JPEG_SYMBOL(tjGetErrorStr2),
    JPEG_SYMBOL(tjGetErrorCode),   JPEG_SYMBOL(tjDestroy),      JPEG_SYMBOL(tjFree)};
static const struct codec_symbol PNG[] = {
    PNG_SYMBOL(png_image_begin_read_from_memory), PNG_SYMBOL(png_image_finish_read),
    PNG_SYMBOL(png_image_write_to_memory), PNG_SYMBOL(png_image_free)};
static const struct codec_symbol WEBP[] = {WEBP_SYMBOL(WebPGetInfo),
                                           WEBP_SYMBOL(WebPDecodeRGBAInto)};

static const struct {
    const char *file, *package;
    const struct codec_symbol *symbols;
    size_t n;
    str only_for; /* a type; empty = every picture, because results are JPEG or PNG */
} LIBRARIES[] = {
    {"libturbojpeg.so.0", "libturbojpeg0", JPEG, ARRAY_LEN(JPEG), {0}},
    {"libpng16.so.16", "libpng16-16", PNG, ARRAY_LEN(PNG), {0}},
    {"libwebp.so.7", "libwebp7", WEBP, ARRAY_LEN(WEBP), STR_INIT("image/webp")},
};

static int load_library(struct codecs *c, size_t i, struct err *e)
{
    void *library = dlopen(LIBRARIES[i].file, RTLD_NOW | RTLD_LOCAL);
    for (size_t k = 0; library && k < LIBRARIES[i].n; k++) {
        const struct codec_symbol *s = &LIBRARIES[i].symbols[k];
        void *address = dlsym(library, s->name);
        memcpy((char *)c + s->at, &address, sizeof address);
        library = address ? library : NULL;
    }
    if (library)
        return 0;
    return err_set(e, -ENOSYS,
                   "nb needs %s for pictures, and cannot load it. Install the package %s "
                   "(Debian: apt-get install %s)",
                   LIBRARIES[i].file, LIBRARIES[i].package, LIBRARIES[i].package);
}

int codecs_load(struct codecs *c, str mime, struct err *e)
{
    int rc = 0;
    *c = (struct codecs){0};
    for (size_t i = 0; i < ARRAY_LEN(LIBRARIES) && rc == 0; i++)
        if (LIBRARIES[i].only_for.n == 0 || str_eq(LIBRARIES[i].only_for, mime))
            rc = load_library(c, i, e);
    return rc;
}

static int broken(struct err *e)
{
    return err_set(e, -EINVAL, "it is broken or incomplete");
}

/* ---- JPEG ---- */

enum {
    TJ_RGBX = 2,
    TJ_RGBA = 7,
    TJ_CMYK = 11,
    TJ_COLOURS_CMYK = 3, /* and YCCK, the next */
    TJ_SUBSAMPLING_420 = 2,
    TJ_LIMIT_SCANS = 32768, /* a small file of very many scans would take minutes */
    TJ_ERROR_FATAL = 1,
};

/* Files with four inks have them inverted, as Adobe writes them. */
static void from_cmyk(struct picture *p)
{
    for (size_t i = 0; i < picture_stride(p) * p->height; i += 4) {
        unsigned black = p->pixels[i + 3];
        for (size_t k = 0; k < 3; k++)
            p->pixels[i + k] = (uint8_t)(p->pixels[i + k] * black / 255);
        p->pixels[i + 3] = 255;
    }
}

/* The library halves a picture up to three times while it decodes. */
static void choose_scale(int *width, int *height, uint32_t side)
{
    for (int i = 0; i < 3; i++) {
        uint32_t longest = (uint32_t)(*width > *height ? *width : *height);
        if (longest < 2 * side)
            return;
        *width = (*width + 1) / 2;
        *height = (*height + 1) / 2;
    }
}

static int jpeg_pixels(const struct jpeg_library *jpeg, void *handle, str file, bool is_cmyk,
                       struct picture *ret, struct err *e)
{
    int rc = jpeg->tjDecompress2(handle, (const unsigned char *)file.p, file.n, ret->pixels,
                                 (int)ret->width, (int)picture_stride(ret), (int)ret->height,
                                 is_cmyk ? TJ_CMYK : TJ_RGBA, TJ_LIMIT_SCANS);
    /* The library goes on after small errors, as cameras make them, but also when the end is
     * missing. */
    if (rc < 0 && (jpeg->tjGetErrorCode(handle) == TJ_ERROR_FATAL ||
                   strstr(jpeg->tjGetErrorStr2(handle), "Premature end")))
        return broken(e);
    if (is_cmyk)
        from_cmyk(ret);
    return 0;
}

static int jpeg_read(const struct jpeg_library *jpeg, void *handle, str file, uint32_t side,
                     struct picture *ret, struct err *e)
{
    int width = 0, height = 0, subsampling, colours = 0;
    if (jpeg->tjDecompressHeader3(handle, (const unsigned char *)file.p, file.n, &width, &height,
                                  &subsampling, &colours) < 0)
        return broken(e);
    if (picture_check((uint32_t)width, (uint32_t)height, e) < 0)
        return e->code;
    choose_scale(&width, &height, side);
    picture_init(ret, (uint32_t)width, (uint32_t)height);
    int rc = jpeg_pixels(jpeg, handle, file, colours >= TJ_COLOURS_CMYK, ret, e);
    if (rc < 0)
        picture_done(ret);
    return rc;
}

static int jpeg_decode(const struct codecs *c, str file, uint32_t side, struct picture *ret,
                       struct err *e)
{
    void *handle = c->jpeg.tjInitDecompress();
    int rc = handle ? jpeg_read(&c->jpeg, handle, file, side, ret, e) : broken(e);
    if (handle)
        c->jpeg.tjDestroy(handle);
    return rc;
}

int codecs_write_jpeg(const struct codecs *c, const struct picture *p, int quality, size_t max,
                      struct buf *to, struct err *e)
{
    unsigned char *file = NULL;
    unsigned long n = 0;
    void *handle = c->jpeg.tjInitCompress();
    assert(!p->has_alpha);
    if (!handle)
        return err_set(e, -EIO, "it cannot be written as JPEG");
    int rc =
        c->jpeg.tjCompress2(handle, p->pixels, (int)p->width, (int)picture_stride(p),
                            (int)p->height, TJ_RGBX, &file, &n, TJ_SUBSAMPLING_420, quality, 0);
    if (rc < 0)
        rc = err_set(e, -EIO, "it cannot be written as JPEG");
    else if (n > max || buf_add(to, file, n) < 0)
        rc = err_set(e, -EFBIG, "it is too large as JPEG");
    c->jpeg.tjFree(file);
    c->jpeg.tjDestroy(handle);
    return rc;
}

/* ---- PNG ---- */

enum { PNG_VERSION = 1, PNG_RGB = 2, PNG_RGBA = 3 };

static int png_decode(const struct codecs *c, str file, struct picture *ret, struct err *e)
{
    struct png_image_state image = {.version = PNG_VERSION};
    if (!c->png.png_image_begin_read_from_memory(&image, file.p, file.n))
        return broken(e);
    int rc = picture_check(image.width, image.height, e);
    if (rc < 0) {
        c->png.png_image_free(&image);
        return rc;
    }
    picture_init(ret, image.width, image.height);
    image.format = PNG_RGBA;
    if (c->png.png_image_finish_read(&image, NULL, ret->pixels, (int32_t)picture_stride(ret), NULL))
        return 0;
    picture_done(ret);
    return broken(e);
}

static uint8_t *without_alpha(const struct picture *p)
{
    size_t n = (size_t)p->width * p->height;
    uint8_t *rgb = xcalloc(n, 3);
    for (size_t i = 0; i < n; i++)
        memcpy(rgb + i * 3, p->pixels + i * 4, 3);
    return rgb;
}

int codecs_write_png(const struct codecs *c, const struct picture *p, size_t max, struct buf *to,
                     struct err *e)
{
    struct png_image_state image = {.version = PNG_VERSION, .width = p->width, .height = p->height};
    uint8_t *rgb = p->has_alpha ? NULL : without_alpha(p), *file = xcalloc(max, 1);
    size_t n = max;
    image.format = rgb ? PNG_RGB : PNG_RGBA;
    bool is_written = c->png.png_image_write_to_memory(&image, file, &n, 0, rgb ? rgb : p->pixels,
                                                       (int32_t)(p->width * (rgb ? 3u : 4u)), NULL);
    int rc = is_written && n <= max && buf_add(to, file, n) == 0
                 ? 0
                 : err_set(e, -EFBIG, "it is too large as PNG");
    free(rgb);
    free(file);
    return rc;
}

/* ---- WebP ---- */

static int webp_decode(const struct codecs *c, str file, struct picture *ret, struct err *e)
{
    int width = 0, height = 0;
    str frame = headers_webp_frame(file);
    const uint8_t *in = (const uint8_t *)frame.p;
    if (!c->webp.WebPGetInfo(in, frame.n, &width, &height))
        return broken(e);
    if (picture_check((uint32_t)width, (uint32_t)height, e) < 0)
        return e->code;
    picture_init(ret, (uint32_t)width, (uint32_t)height);
    if (c->webp.WebPDecodeRGBAInto(in, frame.n, ret->pixels, picture_stride(ret) * ret->height,
                                   (int)picture_stride(ret)))
        return 0;
    picture_done(ret);
    return broken(e);
}

int codecs_decode(const struct codecs *c, str mime, str file, uint32_t side, struct picture *ret,
                  struct err *e)
{
    if (str_eq(mime, STR("image/jpeg")))
        return jpeg_decode(c, file, side, ret, e);
    if (str_eq(mime, STR("image/png")))
        return png_decode(c, file, ret, e);
    if (str_eq(mime, STR("image/webp")))
        return webp_decode(c, file, ret, e);
    if (str_eq(mime, STR("image/gif")))
        return gif_decode(file, ret, e);
    if (str_eq(mime, STR(PPM_TYPE)))
        return ppm_decode(file, ret, e);
    return err_set(e, -EINVAL, "it is no JPEG, PNG, GIF or WebP");
}
