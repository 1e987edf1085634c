/* Any bytes as an archive: every name stays inside the directory, and no more data comes out
 * than went in. Checksums are made right first, or nothing behind them would ever be reached;
 * the first byte says whether. */
#include <assert.h>

#include "base/buf.h"
#include "cli/serve/tar.h"

enum { BLOCK = 512, SUM_AT = 148, SUM_LEN = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_checksum(unsigned char *block)
{
    char text[SUM_LEN + 1];
    unsigned sum = 0;
    memset(block + SUM_AT, ' ', SUM_LEN);
    for (size_t i = 0; i < BLOCK; i++)
        sum += block[i];
    (void)snprintf(text, sizeof text, "%06o", sum);
    memcpy(block + SUM_AT, text, 7);
    memcpy(block + 257, "ustar", 6);
}

static void read_archive(FILE *in, size_t size)
{
    struct tar_reader r = {.in = in};
    struct tar_entry t;
    struct err e = {0};
    char block[300];
    size_t total = 0;
    while (tar_next(&r, &t, &e) > 0) {
        assert(tar_name_ok(str_from(t.name)));
        ssize_t n;
        for (uint64_t left = t.size; left > 0 && (n = tar_read(&r, block, sizeof block, &e)) > 0;) {
            assert((uint64_t)n <= left);
            left -= (uint64_t)n;
            total += (size_t)n;
        }
        assert(total <= size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    unsigned char *copy = xcalloc(1, size);
    size_t n = size - 1;
    memcpy(copy, data + 1, n);
    for (size_t at = 0; (data[0] & 1) && at + BLOCK <= n; at += BLOCK) {
        if (copy[at] != 0)
            set_checksum(copy + at);
    }
    FILE *in = fmemopen(copy, n, "r");
    assert(in);
    read_archive(in, size);
    fclose(in);
    free(copy);
    return 0;
}
