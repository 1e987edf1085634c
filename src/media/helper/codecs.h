/* codecs.h - JPEG, PNG and WebP by their libraries, which only the helper process loads.
 *
 * The libraries are opened with dlopen before the helper gives up its rights (helper.h), so that
 * the server neither links nor loads them. Their few functions are declared here after their
 * manuals (TurboJPEG 2.0, the simplified API of libpng 1.6, libwebp 1.0): building nb needs no
 * headers of theirs. */
#pragma once

#include "base/buf.h"
#include "media/helper/picture.h"

struct png_image_state { /* png_image of libpng 1.6 */
    void *opaque;
    uint32_t version, width, height, format, flags, colormap_entries, warning_or_error;
    char message[64];
};

struct jpeg_library {
    void *(*tjInitDecompress)(void);
    void *(*tjInitCompress)(void);
    int (*tjDecompressHeader3)(void *handle, const unsigned char *in, unsigned long n, int *width,
                               int *height, int *subsampling, int *colours);
    int (*tjDecompress2)(void *handle, const unsigned char *in, unsigned long n, unsigned char *to,
                         int width, int pitch, int height, int format, int flags);
    int (*tjCompress2)(void *handle, const unsigned char *from, int width, int pitch, int height,
                       int format, unsigned char **to, unsigned long *n, int subsampling,
                       int quality, int flags);
    char *(*tjGetErrorStr2)(void *handle);
    int (*tjGetErrorCode)(void *handle);
    int (*tjDestroy)(void *handle);
    void (*tjFree)(unsigned char *file);
};

struct png_library {
    int (*png_image_begin_read_from_memory)(struct png_image_state *, const void *in, size_t n);
    int (*png_image_finish_read)(struct png_image_state *, const void *background, void *to,
                                 int32_t stride, void *colormap);
    int (*png_image_write_to_memory)(struct png_image_state *, void *to, size_t *n,
                                     int convert_to_8_bit, const void *from, int32_t stride,
                                     const void *colormap);
    void (*png_image_free)(struct png_image_state *);
};

struct webp_library {
    int (*WebPGetInfo)(const uint8_t *in, size_t n, int *width, int *height);
    uint8_t *(*WebPDecodeRGBAInto)(const uint8_t *in, size_t n, uint8_t *to, size_t to_n,
                                   int stride);
};

struct codecs {
    struct jpeg_library jpeg;
    struct png_library png;
    struct webp_library webp; /* only for WebP */
};

/* Loads what a file of this type needs. -ENOSYS with a message that says what to install. */
int codecs_load(struct codecs *c, str mime, struct err *e);

/* -EINVAL: not such a file, broken or cut off; -EFBIG. `side`: the picture will be shrunk to it; a
 * large JPEG is decoded smaller. */
int codecs_decode(const struct codecs *c, str mime, str file, uint32_t side, struct picture *ret,
                  struct err *e);

/* Appends the file. -EFBIG: longer than `max`. */
int codecs_write_png(const struct codecs *c, const struct picture *p, size_t max, struct buf *to,
                     struct err *e);
int codecs_write_jpeg(const struct codecs *c, const struct picture *p, int quality, size_t max,
                      struct buf *to, struct err *e);
