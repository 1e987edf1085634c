/* Any bytes as the beginning of a file: the type is of the list, text is really text, and the size
 * of a picture is read without looking beyond the bytes. */
#include <assert.h>
#include <stdlib.h>

#include "attach/sniff.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t w, h;
    char *copy = malloc(size + 1); /* exactly as long, so that reading further is noticed */
    memcpy(copy, data, size);
    str head = str_make(copy, size);
    const char *mime = sniff_type(head);
    assert(sniff_known(str_from(mime)) == mime || sniff_is_text(str_from(mime)) ||
           strcmp(mime, "application/octet-stream") == 0);
    if (sniff_is_text(str_from(mime)) && size < SNIFF_BYTES)
        assert(utf8_valid(head) && (size == 0 || !memchr(copy, 0, size)));
    if (sniff_size(head, &w, &h))
        assert(strcmp(sniff_part(str_from(mime)), "image") == 0);
    free(copy);
    return 0;
}
