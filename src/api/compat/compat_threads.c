#include "api/compat/compat_threads.h"

#include <assert.h>

#include "api/api_impl.h"

struct compat_kept {
    char key[SHA256_HEX_LEN + 1]; /* empty: free */
    char conversation_id[STORE_ID_MAX + 1], run_id[STORE_ID_MAX + 1];
};

struct compat_threads {
    struct compat_kept items[COMPAT_THREADS_MAX];
    size_t next; /* replaces the oldest */
};

/* ---- hashing ---- */

/* With its length, so that no two lists of texts give the same bytes. */
static void hash_text(struct sha256_pieces *h, char kind, str text)
{
    char head[40];
    int n = snprintf(head, sizeof head, "%c%zu:", kind, text.n);
    sha256_add(h, str_make(head, (size_t)n));
    sha256_add(h, text);
}

static void hash_block(struct sha256_pieces *h, const struct compat_request *q,
                       const struct compat_block *b)
{
    static const char KINDS[] = {
        [COMPAT_TEXT] = 't', [COMPAT_FILE] = 'f', [COMPAT_CALL] = 'c', [COMPAT_RESULT] = 'r'};
    const struct compat_file *f = b->type == COMPAT_FILE ? &q->files[b->file] : NULL;
    /* Arguments are left out: clients write them in their own way. */
    hash_text(h, KINDS[b->type], b->type == COMPAT_TEXT ? b->text : b->id);
    if (b->type == COMPAT_RESULT)
        hash_text(h, 'o', b->text);
    if (f)
        hash_text(h, 'b', f->id.n > 0 ? f->id : f->base64);
}

static void hash_message(struct sha256_pieces *h, const struct compat_request *q,
                         const struct compat_message *m)
{
    hash_text(h, m->is_assistant ? 'A' : 'U', STR_NONE);
    for (size_t i = 0; i < m->n; i++)
        hash_block(h, q, &m->blocks[i]);
}

void compat_thread_hash(struct compat_thread *t, const struct http_req *r,
                        const struct compat_request *q)
{
    const struct actor *who = api_actor(r);
    if (q->conversation_id.n > 0 || r->body.n > COMPAT_THREAD_BYTES_MAX)
        return;
    t->is_hashed = true;
    sha256_begin(&t->hash);
    hash_text(&t->hash, 'u', actor_user(who));
    hash_text(&t->hash, 'k', who->people[0].token_id);
    hash_text(&t->hash, 'w', api_space(r)->id);
    for (size_t i = 0; i < q->n; i++) {
        hash_message(&t->hash, q, &q->messages[i]);
        struct sha256_pieces so_far = t->hash;
        if (i + 2 == q->n && q->messages[i].is_assistant)
            sha256_end_hex(&so_far, t->key);
    }
}

/* ---- remembering ---- */

static struct compat_kept *find_kept(struct compat_threads *all, const char *key)
{
    for (size_t i = 0; all && key[0] && i < COMPAT_THREADS_MAX; i++)
        if (strcmp(all->items[i].key, key) == 0)
            return &all->items[i];
    return NULL;
}

static void copy_last(struct compat_request *part, const struct compat_request *q)
{
    struct compat_message *m = ARENA_NEW(q->arena, struct compat_message);
    *m = q->messages[q->n - 1];
    m->blocks = arena_copy(q->arena, m->blocks, m->n, m->n, sizeof *m->blocks);
    part->messages = m;
    part->n = part->cap = 1;
    part->nfiles = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (m->blocks[i].type != COMPAT_FILE)
            continue;
        part->files[part->nfiles] = q->files[m->blocks[i].file];
        m->blocks[i].file = part->nfiles++;
    }
}

struct compat_request *compat_thread_take(struct api *api, const struct compat_thread *t,
                                          const struct compat_request *q)
{
    struct compat_kept *kept = t->is_hashed ? find_kept(api->threads, t->key) : NULL;
    if (!kept)
        return NULL;
    assert(q->n > 1 && q->conversation_id.n == 0);
    struct compat_request *part = ARENA_NEW(q->arena, struct compat_request);
    *part = *q;
    copy_last(part, q);
    part->conversation_id = arena_str(q->arena, str_from(kept->conversation_id));
    part->after_run_id = arena_str(q->arena, str_from(kept->run_id));
    kept->key[0] = 0;
    return part;
}

void compat_thread_keep(struct api *api, struct compat_thread *t, const struct compat_answer *a,
                        const struct run_result *run)
{
    if (!t->is_hashed)
        return;
    if (!api->threads)
        api->threads = xcalloc(1, sizeof *api->threads);
    struct compat_kept *kept = &api->threads->items[api->threads->next++ % COMPAT_THREADS_MAX];
    hash_text(&t->hash, 'A', STR_NONE); /* as hash_message does with the answer, when it is sent */
    if (run->response.n > 0)
        hash_text(&t->hash, 't', run->response);
    for (size_t i = 0; i < run->nclient_calls; i++)
        hash_text(&t->hash, 'c', run->client_calls[i].id);
    sha256_end_hex(&t->hash, kept->key);
    memcpy(kept->conversation_id, a->conversation_id, sizeof kept->conversation_id);
    memcpy(kept->run_id, a->run_id, sizeof kept->run_id);
    t->is_hashed = false;
}
