#include "runtime/turn/request_log.h"

#include <assert.h>
#include <errno.h>

#include "base/bytes/hash.h"
#include "bus/vocabulary.h"

#define BLOB_MAX (16u * 1024 * 1024)

/* ---- blobs ---- */

static str request_system_json(struct arena *a, const struct run_input *in)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, BLOB_MAX);
    jw_object(&w);
    jw_kstr(&w, "stable", in->system_stable);
    jw_kstr(&w, "volatile", in->system_volatile);
    jw_end(&w);
    return buf_keep_whole(&b, a);
}

static str request_tools_json(struct arena *a, const struct run_input *in)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, BLOB_MAX);
    jw_array(&w);
    for (size_t i = 0; i < in->ntools; i++) {
        jw_object(&w);
        jw_kstr(&w, "name", in->tools[i].name);
        jw_kstr(&w, "description", in->tools[i].description);
        jw_kval(&w, "schema", in->tools[i].schema);
        jw_end(&w);
    }
    jw_end(&w);
    return buf_keep_whole(&b, a);
}

int request_system_parse(struct arena *a, str json, struct run_input *ret)
{
    struct json *v;
    int r = json_parse(a, json, JSON_COPY, &v, NULL);
    if (r < 0 || v->type != JSON_OBJECT)
        return -EINVAL;
    ret->system_stable = json_get_string(v, "stable");
    ret->system_volatile = json_get_string(v, "volatile");
    return 0;
}

int request_tools_parse(struct arena *a, str json, struct run_input *ret)
{
    struct json *v;
    int r = json_parse(a, json, JSON_COPY, &v, NULL);
    if (r < 0 || v->type != JSON_ARRAY)
        return -EINVAL;
    struct llm_tool *tools = arena_array(a, v->len, sizeof *tools);
    for (size_t i = 0; i < v->len; i++) {
        const struct json *t = &v->items[i], *schema = json_get(t, "schema");
        tools[i] = (struct llm_tool){json_get_string(t, "name"), json_get_string(t, "description"),
                                     json_is(schema, JSON_NULL) ? NULL : schema};
    }
    ret->tools = tools;
    ret->ntools = v->len;
    return 0;
}

/* ---- recording ---- */

/* Two blobs that are being written. Appends of the run wait for them (turn_hold), so that the event
 * that names them comes first. The store keeps the blobs until the turn ends: then the log has the
 * event. */
struct request_record {
    struct list_node node; /* in turn_log.records, then in turn_log.recorded */
    struct runtime *rt;
    struct turn *turn; /* NULL = the turn has stopped waiting */
    str line;
    char system_sha[SHA256_HEX_LEN + 1], tools_sha[SHA256_HEX_LEN + 1];
    int pending;
    bool has_system, has_tools; /* written, and not released */
};

/* The next run with the same prompt and tools need not write them again. */
static void remember_blobs(const struct request_record *r)
{
    struct transcript *t = r->turn->transcript;
    memcpy(t->system_sha, r->system_sha, sizeof t->system_sha);
    memcpy(t->tools_sha, r->tools_sha, sizeof t->tools_sha);
}

static void record_free(struct request_record *r)
{
    struct store *store = r->rt->deps.store;
    list_del(&r->node);
    if (r->has_system)
        store_release_shared(store, str_from(r->system_sha));
    if (r->has_tools)
        store_release_shared(store, str_from(r->tools_sha));
    free(r);
}

static void conclude(struct request_record *r)
{
    struct turn *t = r->turn;
    assert(r->pending == 0 && t->log.holds > 0);
    list_del(&r->node);
    list_push(&t->log.recorded, &r->node);
    if (!r->has_system || !r->has_tools) {
        log_warn(t->rt->deps.log, "runtime", "a model request is not recorded for replay: %s",
                 "a blob could not be written");
    } else {
        remember_blobs(r);
        turn_note_request(t, r->line);
    }
    turn_release(t);
}

static void on_blob(void *ctx, const struct err *err, str sha256)
{
    struct request_record *r = ctx;
    struct runtime *rt = r->rt;
    if (!err && str_eq(sha256, str_from(r->system_sha)))
        r->has_system = true;
    else if (!err)
        r->has_tools = true;
    assert(r->pending > 0 && rt->nrecords > 0);
    if (--r->pending > 0)
        return;
    if (r->turn)
        conclude(r);
    else
        record_free(r);
    rt->nrecords--;
    runtime_check_stopped(rt);
}

void request_log_forget(struct turn *t)
{
    LIST_EACH (r, &t->log.records, struct request_record, node) {
        list_del(&r->node);
        r->turn = NULL;
        turn_release(t);
    }
}

void request_log_end(struct turn *t)
{
    request_log_forget(t);
    LIST_EACH (r, &t->log.recorded, struct request_record, node)
        record_free(r);
}

static str event_line(struct arena *a, const struct turn *t, int iteration,
                      const struct run_input *in, const char *system, const char *tools)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, 8192);
    jw_object(&w);
    jw_kstr(&w, "type", event_name(EV_LLM_REQUEST));
    jw_kstr(&w, "runId", str_from(t->run_id));
    jw_kint(&w, "iteration", iteration);
    jw_kstr(&w, "model", t->model);
    jw_kstr(&w, "system", str_from(system));
    jw_kstr(&w, "tools", str_from(tools));
    jw_kint(&w, "maxTokens", t->limits.max_output_tokens);
    jw_kstr(&w, "thinking", str_from(in->thinking));
    jw_kstr(&w, "session", t->conversation_id);
    jw_end(&w);
    return buf_keep(&b, a);
}

void tools_memo_done(struct tools_memo *m)
{
    arena_done(&m->arena);
    toolset_unref(m->set);
    *m = (struct tools_memo){0};
}

/* The list as JSON and its checksum, borrowed until the next call. Tools are compared by
 * their addresses: a toolset never changes. */
static const struct tools_memo *remember_tools(struct turn *t, const struct run_input *in)
{
    struct tools_memo *m = &t->rt->tools_memo;
    struct toolset *set = turn_tools(t);
    size_t bytes = in->ntools * sizeof *in->tools;
    if (m->set == set && m->n == in->ntools && m->n > 0 && memcmp(m->tools, in->tools, bytes) == 0)
        return m;
    tools_memo_done(m);
    m->set = toolset_ref(set);
    arena_init(&m->arena);
    struct llm_tool *tools = arena_array(&m->arena, in->ntools, sizeof *tools);
    if (bytes > 0)
        memcpy(tools, in->tools, bytes);
    m->tools = tools;
    m->n = in->ntools;
    m->json = request_tools_json(&m->arena, in);
    sha256_hex(m->json, m->sha);
    return m;
}

static const struct system_memo *remember_system(struct runtime *rt, const struct run_input *in)
{
    struct system_memo *m = &rt->system_memo;
    if (m->json.n > 0 && str_eq(m->stable, in->system_stable) &&
        str_eq(m->volatile_part, in->system_volatile))
        return m;
    arena_reset(&m->arena);
    m->stable = arena_str(&m->arena, in->system_stable);
    m->volatile_part = arena_str(&m->arena, in->system_volatile);
    m->json = request_system_json(&m->arena, in);
    sha256_hex(m->json, m->sha);
    return m;
}

/* True when these are the checksums of both. */
static bool are_named(const char *system_sha, const char *tools_sha,
                      const struct system_memo *system, const struct tools_memo *tools)
{
    return strcmp(system_sha, system->sha) == 0 && strcmp(tools_sha, tools->sha) == 0;
}

static void put_blobs(struct turn *t, str line, const struct system_memo *system,
                      const struct tools_memo *tools)
{
    struct store *store = t->rt->deps.store;
    struct request_record *r = xcalloc(1, sizeof *r);
    r->rt = t->rt;
    r->turn = t;
    r->line = line; /* in the arena of the turn */
    t->rt->nrecords++;
    list_push(&t->log.records, &r->node);
    memcpy(r->system_sha, system->sha, sizeof r->system_sha);
    memcpy(r->tools_sha, tools->sha, sizeof r->tools_sha);
    r->pending = 2;
    turn_hold(t);
    store_put_shared(store, t->conversation_id, system->json, str_from(r->system_sha), on_blob, r);
    store_put_shared(store, t->conversation_id, tools->json, str_from(r->tools_sha), on_blob, r);
}

void request_log_note(struct turn *t, int iteration, const struct run_input *in)
{
    const struct tools_memo *tools = remember_tools(t, in);
    const struct system_memo *system = remember_system(t->rt, in);
    bool is_too_large = system->json.n == 0 || tools->json.n == 0;
    if (is_too_large || are_named(t->log.system_sha, t->log.tools_sha, system, tools))
        return;
    memcpy(t->log.system_sha, system->sha, sizeof t->log.system_sha);
    memcpy(t->log.tools_sha, tools->sha, sizeof t->log.tools_sha);
    str line = event_line(&t->arena, t, iteration, in, system->sha, tools->sha);
    if (are_named(t->transcript->system_sha, t->transcript->tools_sha, system, tools))
        turn_note_request(t, line);
    else
        put_blobs(t, line, system, tools);
}
