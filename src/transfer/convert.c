/* convert.c - converts one conversation after the other: creates it, copies its events page by
 * page, completes it.
 *
 * At most one store call is pending. After its events, a conversation is completed with data that
 * is in no event: notes that other programs wrote beside the log, and a title or sharing in line 1.
 */
#include "transfer/convert.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>

#include "base/clock.h"
#include "base/map.h"
#include "store/backend/backend.h"
#include "transfer/compare.h"

enum { PAGE_EVENTS = 500, PAGE_BYTES = 4 * 1024 * 1024, BLOBS_PER_PAGE = 10000 };

struct convert {
    struct convert_spec spec;
    convert_done_fn fn;
    void *ctx;
    struct convert_report report;
    struct arena arena; /* ids, losses */
    str *ids;           /* heap */
    size_t n, cap, at;
    struct store_op *op;

    struct arena conv_arena; /* of the current conversation */
    const struct conv *conv;
    int64_t last_ms, created_ms;
    struct map notes; /* keys of notes among the events */
    store_pos after;

    struct arena page_arena;
    str *events;
    size_t nevents;
    bool is_last_page;
    str *blobs; /* that the events of this page refer to */
    size_t nblobs, next_blob;
    struct map seen_blobs; /* in this conversation */
    str *held;             /* shared blobs that the target keeps until this page is written */
    size_t nheld;
};

static void release_held(struct convert *c)
{
    while (c->nheld > 0)
        store_release_shared(c->spec.to, c->held[--c->nheld]);
}

static void convert_free(struct convert *c)
{
    release_held(c);
    map_done(&c->notes);
    map_done(&c->seen_blobs);
    arena_done(&c->page_arena);
    arena_done(&c->conv_arena);
    arena_done(&c->arena);
    free(c->ids);
    free(c);
}

static void convert_finish(struct convert *c, const struct err *err)
{
    assert(!c->op);
    c->fn(c->ctx, err, &c->report);
    convert_free(c);
}

static __attribute__((format(printf, 3, 4))) void lose(struct convert *c, int64_t n,
                                                       const char *fmt, ...)
{
    c->report.lost += n;
    if (c->report.nlosses == CONVERT_LOSSES_MAX)
        return;
    va_list ap;
    va_start(ap, fmt);
    str what = arena_vprintf(&c->arena, fmt, ap);
    va_end(ap);
    c->report.losses[c->report.nlosses++] =
        arena_printf(&c->arena, "%.*s: %.*s", STR_ARG(c->ids[c->at]), STR_ARG(what));
}

static void next_conv(struct convert *c);
static void convert_read_page(struct convert *c);

static void conv_ended(struct convert *c)
{
    assert(!c->op && c->at < c->n);
    c->at++;
    if (c->spec.progress)
        c->spec.progress(c->ctx, &c->report);
    next_conv(c);
}

/* ---- taking back what cannot be finished ---- */

static void on_taken_back(void *ctx, const struct err *err)
{
    struct convert *c = ctx;
    c->op = NULL;
    c->report.failed++;
    conv_ended(c);
}

static void take_back(struct convert *c, const struct err *err)
{
    lose(c, 1, "%s", err->msg);
    release_held(c);
    c->op = store_delete(c->spec.to, c->ids[c->at], true, NULL, NULL, on_taken_back, c);
}

/* The pending store call of a conversation has ended. False: it failed, and the conversation is
 * taken back. */
static bool convert_step(struct convert *c, const struct err *err)
{
    assert(c->op && c->at < c->n);
    c->op = NULL;
    if (err)
        take_back(c, err);
    return !err;
}

/* ---- the end of a conversation ---- */

static void on_convert_checked(void *ctx, const struct err *err, const struct conv *made);

static void on_compared(void *ctx, const struct err *err, enum compare_result result)
{
    struct convert *c = ctx;
    const struct err differs = {-EIO, "the copy is not the same as the original"};
    if (err || result != COMPARE_SAME) {
        take_back(c, err ? err : &differs);
        return;
    }
    c->report.converted++;
    conv_ended(c);
}

static void on_completed(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct convert *c = ctx;
    if (convert_step(c, err))
        compare_logs(c->spec.from, c->spec.to, c->ids[c->at], c->created_ms, on_compared, c);
}

static bool same_people(const struct json_strs *a, const struct json_strs *b)
{
    bool same = a->len == b->len;
    for (size_t i = 0; same && i < a->len; i++)
        same = str_eq(a->items[i], b->items[i]);
    return same;
}

/* An event of the conversation's last time, with one member. */
static str own_event(struct convert *c, enum event_type type, const char *key, struct json value)
{
    struct buf b;
    struct json_writer w;
    int64_t ms = c->last_ms;
    (void)clock_parse_iso(c->conv->updated_at, &ms);
    buf_init(&b, STORE_LINE_MAX);
    event_begin(&w, &b, type, ms);
    jw_kval(&w, key, &value);
    jw_end(&w);
    return buf_keep(&b, &c->page_arena);
}

static str people_event(struct convert *c)
{
    const struct conv_acl *acl = &c->conv->acl;
    struct buf b;
    struct json_writer w;
    int64_t ms = c->last_ms;
    (void)clock_parse_iso(c->conv->updated_at, &ms);
    buf_init(&b, STORE_LINE_MAX);
    event_begin(&w, &b, EV_PARTICIPANTS, ms);
    jw_kstrs(&w, "participants", acl->participants.items, acl->participants.len);
    if (acl->readers.len > 0)
        jw_kstrs(&w, "readers", acl->readers.items, acl->readers.len);
    jw_end(&w);
    return buf_keep(&b, &c->page_arena);
}

/* Values that line 1 of the source has, and no event. */
static void on_convert_checked(void *ctx, const struct err *err, const struct conv *made)
{
    struct convert *c = ctx;
    if (!convert_step(c, err))
        return;
    str lines[3];
    size_t n = 0;
    arena_reset(&c->page_arena);
    if (c->conv->title.n && !str_eq(c->conv->title, made->title))
        lines[n++] = own_event(c, EV_TITLE, "title", json_of_str(c->conv->title));
    if (c->conv->acl.is_shared != made->acl.is_shared)
        lines[n++] =
            own_event(c, EV_VISIBILITY, "visibility",
                      json_of_str(c->conv->acl.is_shared ? STR("shared") : STR("private")));
    if (!same_people(&c->conv->acl.participants, &made->acl.participants) ||
        !same_people(&c->conv->acl.readers, &made->acl.readers))
        lines[n++] = people_event(c);
    c->op = store_append(c->spec.to, c->ids[c->at], lines, n, on_completed, c);
}

/* ---- notes that are not among the events ---- */

static str note_key(struct arena *a, str ts, str author, str text)
{
    return arena_printf(a, "%.*s\n%.*s\n%.*s", STR_ARG(ts), STR_ARG(author), STR_ARG(text));
}

static void on_notes_written(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct convert *c = ctx;
    c->report.events += (int64_t)n;
    if (convert_step(c, err))
        c->op = store_get(c->spec.to, c->ids[c->at], on_convert_checked, c);
}

static str note_event(struct arena *a, const struct store_note *note)
{
    struct buf b;
    struct json_writer w;
    int64_t ms = 0;
    (void)clock_parse_iso(note->ts, &ms);
    buf_init(&b, STORE_LINE_MAX);
    event_begin(&w, &b, EV_NOTE, ms);
    jw_kstr(&w, "author", note->author);
    jw_kstr(&w, "content", note->text);
    jw_end(&w);
    return buf_keep(&b, a);
}

static void on_notes(void *ctx, const struct err *err, const struct store_note *notes, size_t n)
{
    struct convert *c = ctx;
    if (!convert_step(c, err))
        return;
    arena_reset(&c->page_arena);
    str *lines = arena_array(&c->page_arena, n + 1, sizeof(*lines));
    size_t missing = 0;
    for (size_t i = 0; i < n; i++) {
        str key = note_key(&c->page_arena, notes[i].ts, notes[i].author, notes[i].text);
        if (!map_get(&c->notes, key))
            lines[missing++] = note_event(&c->page_arena, &notes[i]);
    }
    c->op = store_append(c->spec.to, c->ids[c->at], lines, missing, on_notes_written, c);
}

/* ---- a page: its blobs, then its events ---- */

static void on_page_written(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct convert *c = ctx;
    release_held(c);
    if (!convert_step(c, err))
        return;
    c->report.events += (int64_t)n;
    if (c->is_last_page)
        c->op = store_notes(c->spec.from, c->ids[c->at], on_notes, c);
    else
        convert_read_page(c);
}

static void next_blob(struct convert *c);

static void on_blob_put(void *ctx, const struct err *err, str sha256)
{
    struct convert *c = ctx;
    if (!convert_step(c, err))
        return;
    c->report.blobs++;
    next_blob(c);
}

static void on_shared_put(void *ctx, const struct err *err, str sha256)
{
    struct convert *c = ctx;
    if (!err)
        c->held[c->nheld++] = arena_str(&c->page_arena, sha256);
    on_blob_put(ctx, err, sha256);
}

/* A string that looks like a hash may not be the name of a blob. */
static void on_shared_got(void *ctx, const struct err *err, str bytes)
{
    struct convert *c = ctx;
    str sha256 = c->blobs[c->next_blob - 1];
    c->op = NULL;
    if (!err)
        c->op = store_put_shared(c->spec.to, c->ids[c->at], bytes, sha256, on_shared_put, c);
    else if (err->code == -ENOENT)
        next_blob(c);
    else
        take_back(c, err);
}

static void on_blob_got(void *ctx, const struct err *err, str bytes)
{
    struct convert *c = ctx;
    str sha256 = c->blobs[c->next_blob - 1];
    c->op = NULL;
    if (!err)
        c->op = store_put_blob(c->spec.to, c->ids[c->at], bytes, on_blob_put, c);
    else if (err->code == -ENOENT)
        c->op = store_get_shared(c->spec.from, c->ids[c->at], sha256, on_shared_got, c);
    else
        take_back(c, err);
}

static void next_blob(struct convert *c)
{
    assert(!c->op && c->next_blob <= c->nblobs);
    if (c->next_blob < c->nblobs)
        c->op =
            store_get_blob(c->spec.from, c->ids[c->at], c->blobs[c->next_blob++], on_blob_got, c);
    else
        c->op = store_append(c->spec.to, c->ids[c->at], c->events, c->nevents, on_page_written, c);
}

/* Every string of 64 hex digits in an event may be the name of a blob. */
static void find_blobs(struct convert *c, str line)
{
    for (ptrdiff_t at = 0; (at = str_find(line, STR("\""), (size_t)at)) >= 0; at++) {
        str hash = str_slice(line, (size_t)at + 1, (size_t)at + 1 + SHA256_HEX_LEN);
        if (!sha256_is_hex(hash) || c->nblobs == BLOBS_PER_PAGE || map_get(&c->seen_blobs, hash))
            continue;
        map_put(&c->seen_blobs, hash, c);
        c->blobs[c->nblobs++] = hash;
    }
}

static void take_event(struct convert *c, str line)
{
    struct event_head head;
    struct json *v;
    str hash, body;
    struct arena *a = &c->page_arena;
    (void)chain_split(line, &body, &hash, a); /* the target has its own chain, or none */
    if (!event_scan(body, &head) || json_parse(a, body, 0, &v, NULL) < 0)
        return;
    body = arena_str(a, event_dated(a, body, v, &c->last_ms));
    if (head.type == EV_NOTE)
        map_put(&c->notes,
                note_key(a, json_get_string(v, "ts"), json_get_string(v, "author"),
                         json_get_string(v, "content")),
                c);
    if (head.type == EV_TOOL_DONE && str_find(body, STR("{\"$blob\":\""), 0) >= 0)
        lose(c, 1, "the blob of a tool result is missing");
    c->events[c->nevents++] = body;
    find_blobs(c, body);
}

static void on_convert_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct convert *c = ctx;
    if (!convert_step(c, err))
        return;
    arena_reset(&c->page_arena);
    c->events = arena_array(&c->page_arena, page->n + 1, sizeof(str));
    c->blobs = arena_array(&c->page_arena, BLOBS_PER_PAGE, sizeof(str));
    c->held = arena_array(&c->page_arena, BLOBS_PER_PAGE, sizeof(str));
    c->nevents = c->nblobs = c->next_blob = 0;
    for (size_t i = 0; i < page->n; i++) {
        take_event(c, page->events[i].line);
        c->after = page->events[i].pos;
    }
    c->is_last_page = page->reached_end || page->n == 0;
    next_blob(c);
}

static void convert_read_page(struct convert *c)
{
    struct store_range range = {
        .after = c->after, .max_events = PAGE_EVENTS, .max_bytes = PAGE_BYTES, .with_blobs = true};
    c->op = store_read(c->spec.from, c->ids[c->at], &range, on_convert_page, c);
}

/* ---- one conversation ---- */

static void on_partial_removed(void *ctx, const struct err *err)
{
    struct convert *c = ctx;
    c->op = NULL;
    if (err)
        convert_finish(c, err);
    else
        next_conv(c);
}

static void on_existing_compared(void *ctx, const struct err *err, enum compare_result result)
{
    struct convert *c = ctx;
    if (!err && result == COMPARE_PARTIAL) {
        c->op = store_delete(c->spec.to, c->ids[c->at], true, NULL, NULL, on_partial_removed, c);
        return;
    }
    if (err)
        lose(c, 1, "%s", err->msg);
    else if (result == COMPARE_DIFFERENT)
        lose(c, 0, "the target has a different conversation with this id, which was not changed");
    c->report.existing++;
    conv_ended(c);
}

static void on_created(void *ctx, const struct err *err, const struct conv *conv)
{
    struct convert *c = ctx;
    c->op = NULL;
    if (!err) {
        convert_read_page(c);
    } else if (err->code == -EEXIST) {
        compare_logs(c->spec.from, c->spec.to, c->ids[c->at], c->created_ms, on_existing_compared,
                     c);
    } else {
        convert_finish(c, err);
    }
}

static void on_source(void *ctx, const struct err *err, const struct conv *conv)
{
    struct convert *c = ctx;
    c->op = NULL;
    if (err) {
        lose(c, 1, "%s", err->msg);
        c->report.failed++;
        conv_ended(c);
        return;
    }
    c->conv = conv_clone(&c->conv_arena, conv);
    if (conv->bad_lines)
        lose(c, conv->bad_lines, "%lld lines that are not events", (long long)conv->bad_lines);
    struct conv_create spec = {
        .id = conv->id,
        .owner_id = conv->acl.owner_id,
        .channel = conv->channel,
        .model = conv->model,
        .forked_from = conv->forked_from,
        .parent = conv->parent,
        .metadata = conv->metadata,
        .branch = conv->branch,
        .is_hidden = conv->is_hidden && !conv->parent && !conv->branch,
    };
    if (clock_parse_iso(conv->created_at, &spec.created_ms) < 0)
        lose(c, 1, "its creation time");
    c->last_ms = c->created_ms = spec.created_ms;
    c->op = store_create(c->spec.to, &spec, on_created, c);
}

static void next_conv(struct convert *c)
{
    if (c->at == c->n) {
        convert_finish(c, NULL);
        return;
    }
    arena_reset(&c->conv_arena);
    map_done(&c->notes);
    map_init(&c->notes);
    map_done(&c->seen_blobs);
    map_init(&c->seen_blobs);
    c->after = 0;
    c->op = store_get(c->spec.from, c->ids[c->at], on_source, c);
}

/* ---- which ones ---- */

static void add_id(struct convert *c, str id)
{
    GROW(c->ids, c->n, c->cap);
    c->ids[c->n++] = arena_str(&c->arena, id);
}

static void list_page(struct convert *c, str cursor);

static void on_convert_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct convert *c = ctx;
    c->op = NULL;
    if (err) {
        convert_finish(c, err);
        return;
    }
    for (size_t i = 0; i < l->n; i++)
        add_id(c, l->convs[i].id);
    if (l->next_cursor.n) {
        list_page(c, l->next_cursor);
        return;
    }
    c->report.total = (int64_t)c->n;
    next_conv(c);
}

/* Sorted by creation time: this order does not change during the conversion. */
static void list_page(struct convert *c, str cursor)
{
    struct store_query q = {
        .limit = STORE_LIST_MAX, .sort = STORE_BY_CREATED, .with_hidden = true, .cursor = cursor};
    c->op = store_list(c->spec.from, &q, on_convert_listed, c);
}

struct convert *convert_run(const struct convert_spec *spec, convert_done_fn fn, void *ctx)
{
    struct convert *c = xcalloc(1, sizeof(*c));
    c->spec = *spec;
    c->fn = fn;
    c->ctx = ctx;
    c->report.total = -1;
    arena_init(&c->arena);
    arena_init(&c->conv_arena);
    arena_init(&c->page_arena);
    map_init(&c->notes);
    map_init(&c->seen_blobs);
    if (spec->id.n) {
        add_id(c, spec->id);
        c->report.total = 1;
        next_conv(c);
    } else {
        list_page(c, STR_NONE);
    }
    return c;
}
