/* Any bytes as the output of pdfinfo and pdftotext: what is found stays within its limits, and is
 * text that JSON can hold. */
#include <assert.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "media/pdf_output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1); /* exactly as long, so that reading further is noticed */
    struct arena a;
    struct media_pages pages;
    struct media_words words;
    memcpy(copy, data, size);
    arena_init(&a);
    if (pdf_output_pages(&a, str_make(copy, size), &pages)) {
        assert(pages.n >= 1 && pages.n <= MEDIA_PAGES_MAX && pages.n <= pages.count);
        for (size_t i = 0; i < pages.n; i++)
            assert(pages.sizes[i].width >= 1 && pages.sizes[i].height >= 1);
    }
    pdf_output_words(&a, str_make(copy, size), &words);
    assert(words.n <= MEDIA_WORDS_MAX);
    for (size_t i = 0; i < words.n; i++)
        assert(words.words[i].x < words.words[i].x_end && words.words[i].text.n > 0 &&
               utf8_valid(words.words[i].text));
    arena_done(&a);
    free(copy);
    return 0;
}
