#include "runtime/rebuild.h"

#include <limits.h>

#include "base/bytes/hash.h"
#include "runtime/turn/request_log.h"

struct rebuilder {
    struct llm *llm;
    const str *lines;
    size_t n;
    struct json **events; /* parsed once; NULL = not JSON */
    rebuild_blob_fn get_blob;
    void (*fn)(void *ctx, const struct rebuilt *r);
    void *ctx;
};

static bool is_type(const struct json *event, enum event_type type)
{
    return str_eq(json_get_string(event, "type"), event_name(type));
}

static bool is_of_run(const struct json *event, str run_id)
{
    return str_eq(json_get_string(event, "runId"), run_id);
}

/* How many model calls of this run came before line i; its own is the next. */
static int iteration_of(const struct rebuilder *b, size_t i, str run_id)
{
    int n = 1;
    for (size_t k = 0; k < i; k++)
        n += is_type(b->events[k], EV_LLM_RESPONSE) && is_of_run(b->events[k], run_id);
    return n;
}

/* The newest llm.request of the run that is not newer than the call. It may come after the response
 * in the log, because it is written in the background. */
static const struct json *request_of(const struct rebuilder *b, str run_id, int iteration)
{
    const struct json *found = NULL;
    int64_t best = 0;
    for (size_t k = 0; k < b->n; k++) {
        const struct json *e = b->events[k];
        int64_t at = json_get_int(e, "iteration", 0);
        if (is_type(e, EV_LLM_REQUEST) && is_of_run(e, run_id) && at <= iteration && at > best) {
            best = at;
            found = e;
        }
    }
    return found;
}

typedef int (*parse_fn)(struct arena *a, str json, struct run_input *ret);

static int load_blob(struct rebuilder *b, struct arena *a, str sha256, parse_fn parse,
                     struct run_input *in, struct err *e)
{
    str blob;
    int r = b->get_blob(b->ctx, a, sha256, &blob, e);
    if (r == 0 && (r = parse(a, blob, in)) < 0)
        err_set(e, r, "the blob has other content");
    return r;
}

static int load_inputs(struct rebuilder *b, struct arena *a, const struct json *request,
                       struct run_input *in, struct err *e)
{
    int r = load_blob(b, a, json_get_string(request, "system"), request_system_parse, in, e);
    if (r < 0)
        return err_prefix(e, "the recorded system prompt cannot be read"), r;
    r = load_blob(b, a, json_get_string(request, "tools"), request_tools_parse, in, e);
    if (r < 0)
        err_prefix(e, "the recorded tool list cannot be read");
    return r;
}

/* Reports the parts that differ from the request that was sent. */
static void explain_difference(struct arena *a, const struct json *parts, struct rebuilt *ret)
{
    if (!json_is(parts, JSON_OBJECT)) {
        ret->why = STR("the part that differs was not recorded");
        return;
    }
    ret->ndifferences =
        outline_compare(a, parts, ret->body, ret->differences, REBUILD_DIFFERENCES_MAX);
    if (ret->ndifferences == 0)
        ret->why = STR("all parts are equal; their order or formatting differs");
}

static void rebuild_request(struct rebuilder *b, struct arena *a, size_t i,
                            const struct json *request, struct rebuilt *ret)
{
    struct run_input in = {0};
    struct err e = {0};
    if (load_inputs(b, a, request, &in, &e) < 0) {
        ret->why = arena_str(a, str_from(e.msg));
        return;
    }
    struct replay h = replay_lines_model(a, b->lines, i);
    if (context_messages(a, &h, &in.messages, &in.nmessages, &e) < 0) {
        ret->why = arena_str(a, str_from(e.msg));
        return;
    }
    in.thinking = arena_cstr(a, json_get_string(request, "thinking"));
    struct llm_request req = run_request(&in, json_get_int(request, "maxTokens", 0),
                                         json_get_string(request, "session"));
    ret->nmessages = in.nmessages;
    const struct json *sent = json_get(b->events[i], "requestParts");
    if (llm_build_request(b->llm, json_get_string(request, "model"), &req, sent, a, &ret->body,
                          &e) < 0) {
        ret->why = arena_str(a, str_from(e.msg));
        return;
    }
    sha256_hex(ret->body, ret->rebuilt_sha256);
    bool is_equal = str_eq(str_from(ret->rebuilt_sha256), ret->recorded_sha256);
    ret->verdict = is_equal ? REBUILD_EQUAL : REBUILD_DIFFERENT;
    if (!is_equal)
        explain_difference(a, sent, ret);
}

/* ---- a run that resumes the run that asked ---- */

static const struct json *start_of(const struct rebuilder *b, str run_id)
{
    for (size_t k = 0; k < b->n; k++)
        if (is_type(b->events[k], EV_RUN_START) && is_of_run(b->events[k], run_id))
            return b->events[k];
    return NULL;
}

static const struct json *last_request_of(const struct rebuilder *b, str run_id)
{
    return request_of(b, run_id, INT_MAX);
}

static bool is_same_value(const struct json *x, const struct json *y)
{
    return x && y ? json_equal(x, y) : x == y;
}

/* The date, the skill and the tools that are hidden stand behind the stable part; a skill is
 * compared by its name. */
static bool is_same_system(struct rebuilder *b, struct arena *a, const struct json *x,
                           const struct json *y)
{
    struct run_input one = {0}, two = {0};
    struct err e = {0};
    if (is_same_value(json_get(x, "system"), json_get(y, "system")))
        return true;
    return load_blob(b, a, json_get_string(x, "system"), request_system_parse, &one, &e) == 0 &&
           load_blob(b, a, json_get_string(y, "system"), request_system_parse, &two, &e) == 0 &&
           str_eq(one.system_stable, two.system_stable);
}

static const struct json *limits_of(const struct json *start)
{
    return json_get(json_get(json_get(start, "setting"), "value"), "limits");
}

/* The parts of the setting that differ from the run that it resumes; empty = none. */
static str changed_setting(struct rebuilder *b, struct arena *a, const struct json *start,
                           const struct json *request)
{
    str before = json_get_string(start, "resumes");
    const struct json *was = start_of(b, before), *asked = last_request_of(b, before);
    if (!was || !asked)
        return STR_NONE;
    const struct {
        const char *name;
        bool is_same;
    } PARTS[] = {
        {"model", is_same_value(json_get(was, "model"), json_get(start, "model"))},
        {"skill", is_same_value(json_get(was, "skill"), json_get(start, "skill"))},
        {"limits",
         is_same_value(limits_of(was), limits_of(start)) &&
             is_same_value(json_get(asked, "maxTokens"), json_get(request, "maxTokens")) &&
             is_same_value(json_get(asked, "thinking"), json_get(request, "thinking"))},
        {"system prompt", is_same_system(b, a, asked, request)},
        {"tools", is_same_value(json_get(asked, "tools"), json_get(request, "tools"))},
    };
    struct buf names;
    buf_init(&names, 256);
    for (size_t i = 0; i < ARRAY_LEN(PARTS); i++)
        if (!PARTS[i].is_same)
            buf_printf(&names, "%s%s", names.n ? ", " : "", PARTS[i].name);
    return buf_keep(&names, a);
}

/* A run that continues after an answer must have the setting of the run that asked. */
static void check_resumed(struct rebuilder *b, struct arena *a, const struct json *request,
                          struct rebuilt *r)
{
    const struct json *start = start_of(b, r->run_id);
    if (r->verdict != REBUILD_EQUAL || json_get_string(start, "resumes").n == 0)
        return;
    str changed = changed_setting(b, a, start, request);
    if (changed.n == 0)
        return;
    r->verdict = REBUILD_DIFFERENT;
    r->why = arena_printf(a, "this run resumes %.*s, but these parts of its setting differ: %.*s",
                          STR_ARG(json_get_string(start, "resumes")), STR_ARG(changed));
}

static void rebuild_one(struct rebuilder *b, size_t i)
{
    const struct json *event = b->events[i];
    struct arena a;
    arena_init(&a);
    struct rebuilt r = {
        .run_id = json_get_string(event, "runId"),
        .model = json_get_string(event, "model"),
        .recorded_sha256 = json_get_string(event, "requestSha256"),
        .verdict = REBUILD_UNKNOWN,
    };
    r.iteration = iteration_of(b, i, r.run_id);
    const struct json *request = request_of(b, r.run_id, r.iteration);
    if (r.recorded_sha256.n == 0)
        r.why = STR("no checksum was recorded for this call");
    else if (!request)
        r.why = STR("the input of this call was not recorded");
    else
        rebuild_request(b, &a, i, request, &r);
    check_resumed(b, &a, request, &r);
    b->fn(b->ctx, &r);
    arena_done(&a);
}

void rebuild_requests(struct llm *llm, const str *lines, size_t n, rebuild_blob_fn get_blob,
                      void (*fn)(void *ctx, const struct rebuilt *r), void *ctx)
{
    struct arena a;
    arena_init(&a);
    struct rebuilder b = {
        .llm = llm, .lines = lines, .n = n, .get_blob = get_blob, .fn = fn, .ctx = ctx};
    b.events = arena_array(&a, n, sizeof *b.events);
    for (size_t i = 0; i < n; i++)
        if (json_parse(&a, lines[i], 0, &b.events[i], NULL) < 0)
            b.events[i] = NULL;
    for (size_t i = 0; i < n; i++)
        if (is_type(b.events[i], EV_LLM_RESPONSE))
            rebuild_one(&b, i);
    arena_done(&a);
}
