#include "engine/drafts.h"

#include <assert.h>

#include "base/json/json_repair.h"

/* 64 KiB are sent a fourth as often as a short text. */
#define BYTES_PER_MS 256

static void on_pace(void *ctx);

void drafts_init(struct drafts *d, struct loop *l, drafts_fn publish, void *ctx)
{
    *d = (struct drafts){.publish = publish, .ctx = ctx};
    arena_init(&d->arena);
    timer_init(&d->pace, l, on_pace, d);
}

static void free_texts(struct call_draft *one)
{
    buf_done(&one->args);
    buf_done(&one->sent);
}

void drafts_clear(struct drafts *d)
{
    timer_stop(&d->pace);
    for (size_t i = 0; i < d->n; i++)
        free_texts(&d->items[i]);
    arena_reset(&d->arena);
    d->items = NULL;
    d->n = d->cap = 0;
}

void drafts_done(struct drafts *d)
{
    drafts_clear(d);
    arena_done(&d->arena);
}

void drafts_begin(struct drafts *d, str id, str name, str ui_uri)
{
    if (d->n == DRAFTS_MAX)
        return;
    ARENA_GROW(&d->arena, d->items, d->n, d->cap);
    struct call_draft *one = &d->items[d->n++];
    *one = (struct call_draft){
        .id = arena_str(&d->arena, id),
        .name = arena_str(&d->arena, name),
        .ui_uri = arena_str(&d->arena, ui_uri),
    };
    buf_init(&one->args, DRAFTS_ARGS_MAX);
    buf_init(&one->sent, DRAFTS_ARGS_MAX + JSON_DEPTH_MAX + 1);
}

/* The newest: a model may give two calls the same id. */
static struct call_draft *find(const struct drafts *d, str id)
{
    for (size_t i = d->n; i > 0; i--)
        if (str_eq(d->items[i - 1].id, id))
            return &d->items[i - 1];
    return NULL;
}

const struct call_draft *drafts_find(const struct drafts *d, str id)
{
    return find(d, id);
}

void drafts_write(const struct drafts *d, struct json_writer *w)
{
    jw_array(w);
    for (size_t i = 0; i < d->n; i++) {
        const struct call_draft *one = &d->items[i];
        jw_object(w);
        jw_kstr(w, "id", one->id);
        jw_kstr(w, "name", one->name);
        if (one->ui_uri.n > 0)
            jw_kstr(w, "resourceUri", one->ui_uri);
        if (one->sent.n > 0)
            jw_kraw(w, "input", buf_str(&one->sent));
        jw_end(w);
    }
    jw_end(w);
}

/* A key that is half written changes nothing. */
static void publish_one(struct drafts *d, struct call_draft *one)
{
    struct arena a;
    arena_init(&a);
    one->has_grown = false;
    str input = json_repair(&a, buf_str(&one->args));
    if (input.n > 0 && !str_eq(input, buf_str(&one->sent))) {
        buf_clear(&one->sent);
        (void)buf_add_str(&one->sent, input);
        assert(!buf_failed(&one->sent)); /* repaired text is that long at most */
        timer_start(&d->pace, DRAFTS_PACE_MS + input.n / BYTES_PER_MS);
        d->publish(d->ctx, one, input);
    }
    arena_done(&a);
}

static void on_pace(void *ctx)
{
    struct drafts *d = ctx;
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].has_grown)
            publish_one(d, &d->items[i]);
}

void drafts_add(struct drafts *d, str id, str piece)
{
    struct call_draft *one = find(d, id);
    if (!one || one->ui_uri.n == 0 || buf_failed(&one->args))
        return;
    if (buf_add_str(&one->args, piece) < 0) {
        one->has_grown = false; /* too long: the interface waits for all of it */
        return;
    }
    one->has_grown = true;
    if (!timer_active(&d->pace))
        publish_one(d, one);
}
