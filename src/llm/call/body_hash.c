#include "llm/call/body_hash.h"

#include <assert.h>

/* How many bytes are equal at the front, in whole steps. */
static size_t common(str a, str b)
{
    size_t n = 0, end = a.n < b.n ? a.n : b.n;
    while (end - n >= BODY_HEAD_STEP && memcmp(a.p + n, b.p + n, BODY_HEAD_STEP) == 0)
        n += BODY_HEAD_STEP;
    return n;
}

static struct body_head *find_head(struct body_hash *h, str body)
{
    for (size_t i = 0; i < BODY_HEADS; i++)
        if (h->heads[i].bytes.n > 0 && str_starts(body, buf_str(&h->heads[i].bytes)))
            return &h->heads[i];
    return NULL;
}

/* A head that begins as the body does becomes shorter, until it is what bodies have in common. */
static struct body_head *shorten_head(struct body_hash *h, str body)
{
    struct body_head *best = NULL;
    size_t longest = BODY_HEAD_MIN - 1;
    for (size_t i = 0; i < BODY_HEADS; i++) {
        size_t n = common(buf_str(&h->heads[i].bytes), body);
        if (n > longest) {
            best = &h->heads[i];
            longest = n;
        }
    }
    if (best)
        buf_truncate(&best->bytes, longest);
    return best;
}

static struct body_head *new_head(struct body_hash *h, str body)
{
    struct body_head *head = &h->heads[h->next];
    size_t n = body.n < BODY_HEAD_MAX ? body.n & ~(size_t)(BODY_HEAD_STEP - 1) : BODY_HEAD_MAX;
    if (n < BODY_HEAD_MIN)
        return NULL;
    h->next = (h->next + 1) % BODY_HEADS;
    buf_done(&head->bytes);
    buf_init(&head->bytes, BODY_HEAD_MAX);
    (void)buf_add(&head->bytes, body.p, n);
    return head;
}

void body_hash_hex(struct body_hash *h, str body, char out[SHA256_HEX_LEN + 1])
{
    struct sha256_pieces state;
    struct body_head *head = find_head(h, body);
    if (head) {
        state = head->state;
    } else {
        sha256_begin(&state);
        head = shorten_head(h, body);
        head = head ? head : new_head(h, body);
        if (head) {
            sha256_add(&state, buf_str(&head->bytes));
            head->state = state;
        }
    }
    assert(!head || head->bytes.n <= body.n);
    sha256_add(&state, str_skip(body, head ? head->bytes.n : 0));
    sha256_end_hex(&state, out);
}

void body_hash_done(struct body_hash *h)
{
    for (size_t i = 0; i < BODY_HEADS; i++)
        buf_done(&h->heads[i].bytes);
    *h = (struct body_hash){0};
}
