#include "runtime/rebuild.h"

#include "base/hash.h"
#include "runtime/request_log.h"
#include "store/event.h"

struct rebuilder {
    struct llm *llm;
    const str *lines;
    size_t n;
    struct json **events; /* parsed once; NULL = not JSON */
    rebuild_blob_fn get_blob;
    void (*fn)(void *ctx, const struct rebuilt *r);
    void *ctx;
};

static bool is_type(const struct json *event, const char *type)
{
    return str_eq(json_get_string(event, "type"), str_from(type));
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
        n += is_type(b->events[k], "llm.response") && is_of_run(b->events[k], run_id);
    return n;
}

/* The newest llm.request of the run that is not younger than the call. It may stand behind
 * the answer: it is written in the background. */
static const struct json *request_of(const struct rebuilder *b, str run_id, int iteration)
{
    const struct json *found = NULL;
    int64_t best = 0;
    for (size_t k = 0; k < b->n; k++) {
        const struct json *e = b->events[k];
        int64_t at = json_get_int(e, "iteration", 0);
        if (is_type(e, "llm.request") && is_of_run(e, run_id) && at <= iteration && at > best) {
            best = at;
            found = e;
        }
    }
    return found;
}

typedef int (*parse_fn)(struct arena *a, str json, struct run_input *ret);

static int load(struct rebuilder *b, struct arena *a, str sha256, parse_fn parse,
                struct run_input *in, struct err *e)
{
    str blob;
    int r = b->get_blob(b->ctx, a, sha256, &blob, e);
    if (r == 0 && (r = parse(a, blob, in)) < 0)
        err_set(e, r, "the blob does not hold it");
    return r;
}

static int load_inputs(struct rebuilder *b, struct arena *a, const struct json *request,
                       struct run_input *in, struct err *e)
{
    int r = load(b, a, json_get_string(request, "system"), request_system_parse, in, e);
    if (r < 0)
        return err_prefix(e, "the recorded system prompt cannot be read"), r;
    r = load(b, a, json_get_string(request, "tools"), request_tools_parse, in, e);
    if (r < 0)
        err_prefix(e, "the recorded tool list cannot be read");
    return r;
}

/* Which parts are not what was sent. */
static void explain(struct arena *a, const struct json *parts, struct rebuilt *ret)
{
    if (!json_is(parts, JSON_OBJECT)) {
        ret->why = STR("which part differs was not recorded");
        return;
    }
    ret->ndifferences =
        outline_compare(a, parts, ret->body, ret->differences, REBUILD_DIFFERENCES_MAX);
    if (ret->ndifferences == 0)
        ret->why = STR("all parts look the same; their order or their form differs");
}

static void build(struct rebuilder *b, struct arena *a, size_t i, const struct json *request,
                  struct rebuilt *ret)
{
    struct run_input in = {0};
    struct err e = {0};
    if (load_inputs(b, a, request, &in, &e) < 0) {
        ret->why = arena_str(a, str_from(e.msg));
        return;
    }
    struct replay h = replay_lines(a, b->lines, NULL, i);
    if (context_messages(a, &h, &in.messages, &in.nmessages, &e) < 0) {
        ret->why = arena_str(a, str_from(e.msg));
        return;
    }
    in.thinking = arena_cstr(a, json_get_string(request, "thinking"));
    struct llm_request req = run_request(&in, json_get_int(request, "maxTokens", 0),
                                         json_get_string(request, "session"));
    ret->nmessages = in.nmessages;
    if (llm_build_request(b->llm, json_get_string(request, "model"), &req, a, &ret->body, &e) < 0) {
        ret->why = arena_str(a, str_from(e.msg));
        return;
    }
    sha256_hex(ret->body, ret->rebuilt_sha256);
    bool is_equal = str_eq(str_from(ret->rebuilt_sha256), ret->recorded_sha256);
    ret->verdict = is_equal ? REBUILD_EQUAL : REBUILD_DIFFERENT;
    if (!is_equal)
        explain(a, json_get(b->events[i], "requestParts"), ret);
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
        r.why = STR("what this call was given was not recorded");
    else
        build(b, &a, i, request, &r);
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
        if (is_type(b.events[i], "llm.response"))
            rebuild_one(&b, i);
    arena_done(&a);
}
