/* fuzz_journal.c - any bytes as half a journal: whatever is taken for a record lies in the input,
 * names a log and nothing else, and has a place in a file. Checksums are put right first, or
 * nothing would get past them. */
#include <assert.h>

#include "store/log/journal.h"
#include "store/store.h"

enum { INPUT_MAX = 8 * JOURNAL_BLOCK };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    str half;
    const char *last; /* the end of the last record: they do not overlap */
    uint64_t n;
};

static void check(void *ctx, const struct journal_record *r)
{
    struct seen *s = ctx;
    assert(r->name.p >= s->last && r->bytes.p == r->name.p + r->name.n);
    assert(r->bytes.n > 0 && r->bytes.p + r->bytes.n <= s->half.p + s->half.n);
    assert(str_ends(r->name, STR(".jsonl")));
    assert(store_id_valid(str_slice(r->name, 0, r->name.n - 6)));
    assert(r->offset <= INT64_MAX - r->bytes.n);
    s->last = r->bytes.p + r->bytes.n;
    s->n++;
}

static void put_right(char *half, size_t size)
{
    for (size_t at = 0; at + sizeof(struct journal_head) <= size; at += JOURNAL_BLOCK) {
        struct journal_head head;
        memcpy(&head, half + at, sizeof(head));
        head.magic = JOURNAL_MAGIC;
        if (head.bytes >= sizeof(head) && head.bytes <= size - at) {
            head.checksum = journal_checksum(half + at, head.bytes);
            memcpy(half + at, &head, sizeof(head));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    char *half = xcalloc(1, size + 1);
    if (size)
        memcpy(half, data, size);
    for (int is_right = 0; is_right < 2; is_right++) {
        struct seen s = {.half = str_make(half, size), .last = half};
        if (is_right)
            put_right(half, size);
        journal_parse(s.half, check, &s);
        assert(s.n == 0 || journal_generation(s.half) > 0);
    }
    free(half);
    return 0;
}
