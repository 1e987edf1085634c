/* bench_json.c - our JSON beside jansson and cJSON, on the shapes that nb meets.
 *
 * The documents are made here from a fixed seed: chat events of a conversation log, one
 * large tools/list answer, and small JSON-RPC messages. Parsing means building the
 * document, two lookups and freeing it. All figures are MB of input per second of CPU time
 * of this process, the median of several rounds, all libraries in turn in every round. */
#include <cjson/cJSON.h>
#include <time.h>

#include "../tests/support/peer_jansson.h"
#include "base/json/json.h"
#include "base/json/json_scan.h"
#include "figure.h"

#define ROUNDS    7
#define DATA_MAX  ((size_t)64 << 20)
#define ROUND_SEC 0.08

struct set {
    const char *name;
    struct buf text; /* documents, each followed by a newline */
    str *docs;
    size_t len;
};

enum { OURS, JANSSON, CJSON, LIBS };

static const char *const LIB_NAMES[LIBS] = {"nb", "jansson", "cJSON"};

/* ---- data ---- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t below(uint64_t *state, size_t n)
{
    return (size_t)(next_random(state) % n);
}

/* Most text is prose with a line break now and then; one text in four is dense with
 * quotes, backslashes and characters outside ASCII, as code and other languages are. */
static const char *const PROSE[] = {
    "the",   "tool",   "returns", "every",   "conversation", "of",       "a",      "workspace",
    "as",    "JSON",   "and",     "streams", "it",           "to",       "reader", "line.\n",
    "café",  "then",   "with",    "finally", "model",        "response", "index",  "durable",
    "write", "append", "once",    "again",   "or",           "never",    "which",  "for",
};
static const char *const DENSE[] = {
    "\"quoted", "path\"", "C:\\temp", "line\n",  "- item", "result:\n\n", "Zürich", "naïve",
    "数据",     "the",    "tool",     "returns", "a",      "café",        "index",  "\t\tif (x)",
};

static void add_words(struct buf *b, uint64_t *seed, size_t n)
{
    bool dense = below(seed, 4) == 0;
    for (size_t i = 0; i < n; i++) {
        (void)buf_add_lit(b, dense ? DENSE[below(seed, ARRAY_LEN(DENSE))]
                                   : PROSE[below(seed, ARRAY_LEN(PROSE))]);
        (void)buf_add_char(b, ' ');
    }
}

static void key_words(struct json_writer *w, const char *key, uint64_t *seed, size_t n)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    add_words(&text, seed, n);
    jw_kstr(w, key, buf_str(&text));
    buf_done(&text);
}

static void key_id(struct json_writer *w, const char *key, const char *prefix, uint64_t *seed)
{
    char id[40];
    int n = snprintf(id, sizeof(id), "%s_%016llx", prefix, (unsigned long long)next_random(seed));
    jw_kstr(w, key, str_make(id, (size_t)n));
}

static void event_head(struct json_writer *w, const char *type, size_t i, uint64_t *seed)
{
    char ts[40];
    int n = snprintf(ts, sizeof(ts), "2026-03-%02zuT%02zu:%02zu:%02zu.%03zuZ", i / 86400 % 28 + 1,
                     i / 3600 % 24, i / 60 % 60, i % 60, below(seed, 1000));
    jw_object(w);
    jw_kstr(w, "ts", str_make(ts, (size_t)n));
    jw_kstr(w, "type", str_from(type));
    key_id(w, "runId", "run", seed);
}

static void user_message(struct json_writer *w, uint64_t *seed)
{
    key_id(w, "userId", "usr", seed);
    jw_key(w, "content");
    jw_array(w);
    jw_object(w);
    jw_kstr(w, "type", STR("text"));
    key_words(w, "text", seed, 10 + below(seed, 120));
    jw_end(w);
    jw_end(w);
}

static void model_response(struct json_writer *w, uint64_t *seed)
{
    jw_kstr(w, "model", STR("claude-sonnet-4-5"));
    jw_key(w, "content");
    jw_array(w);
    jw_object(w);
    jw_kstr(w, "type", STR("text"));
    key_words(w, "text", seed, 60 + below(seed, 400));
    jw_end(w);
    jw_object(w);
    jw_kstr(w, "type", STR("tool_use"));
    key_id(w, "id", "toolu", seed);
    jw_kstr(w, "name", STR("files__search"));
    jw_key(w, "input");
    jw_object(w);
    key_words(w, "query", seed, 4);
    jw_kint(w, "limit", 20);
    jw_end(w);
    jw_end(w);
    jw_end(w);
    jw_kint(w, "inputTokens", (int64_t)below(seed, 90000));
    jw_kint(w, "outputTokens", (int64_t)below(seed, 4000));
    jw_kint(w, "cacheReadTokens", (int64_t)below(seed, 90000));
    jw_key(w, "costUsd");
    jw_raw(w, STR("0.0123"));
    jw_kstr(w, "stopReason", STR("tool_use"));
}

static void tool_result(struct json_writer *w, uint64_t *seed)
{
    key_id(w, "toolCallId", "toolu", seed);
    jw_kstr(w, "name", STR("files__search"));
    jw_kbool(w, "isError", false);
    jw_key(w, "content");
    jw_array(w);
    for (size_t i = 0; i < 3; i++) {
        jw_object(w);
        jw_kstr(w, "type", STR("text"));
        key_words(w, "text", seed, 20 + below(seed, 100));
        jw_end(w);
    }
    jw_end(w);
    jw_kint(w, "durationMs", (int64_t)below(seed, 5000));
}

static void make_events(struct set *s, uint64_t *seed)
{
    static const struct {
        const char *type;
        void (*fill)(struct json_writer *w, uint64_t *seed);
    } KINDS[] = {{"user.message", user_message},
                 {"llm.response", model_response},
                 {"tool.done", tool_result}};
    for (size_t i = 0; i < 8000; i++) {
        struct json_writer w;
        jw_init(&w, &s->text);
        event_head(&w, KINDS[i % 3].type, i, seed);
        KINDS[i % 3].fill(&w, seed);
        jw_end(&w);
        (void)buf_add_char(&s->text, '\n');
    }
}

static void tool_schema(struct json_writer *w, uint64_t *seed)
{
    static const char *const NAMES[] = {"query", "path", "limit", "cursor", "recursive", "format"};
    jw_object(w);
    jw_kstr(w, "type", STR("object"));
    jw_key(w, "properties");
    jw_object(w);
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        jw_key(w, NAMES[i]);
        jw_object(w);
        jw_kstr(w, "type", i == 2 ? STR("integer") : i == 4 ? STR("boolean") : STR("string"));
        key_words(w, "description", seed, 6);
        if (i == 2) {
            jw_kint(w, "minimum", 1);
            jw_kint(w, "maximum", 1000);
        }
        jw_end(w);
    }
    jw_end(w);
    jw_key(w, "required");
    jw_array(w);
    jw_str(w, STR("query"));
    jw_end(w);
    jw_kbool(w, "additionalProperties", false);
    jw_end(w);
}

static void make_tools(struct set *s, uint64_t *seed)
{
    struct json_writer w;
    jw_init(&w, &s->text);
    jw_object(&w);
    jw_kstr(&w, "jsonrpc", STR("2.0"));
    jw_kint(&w, "id", 7);
    jw_key(&w, "result");
    jw_object(&w);
    jw_key(&w, "tools");
    jw_array(&w);
    for (size_t i = 0; i < 2000; i++) {
        jw_object(&w);
        key_id(&w, "name", "tool", seed);
        key_words(&w, "description", seed, 25);
        jw_key(&w, "inputSchema");
        tool_schema(&w, seed);
        jw_key(&w, "annotations");
        jw_object(&w);
        jw_kbool(&w, "readOnlyHint", true);
        jw_end(&w);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    (void)buf_add_char(&s->text, '\n');
}

static void make_rpc(struct set *s, uint64_t *seed)
{
    for (int i = 0; i < 30000; i++)
        (void)buf_printf(&s->text,
                         "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":"
                         "{\"name\":\"echo\",\"arguments\":{\"n\":%zu}}}\n",
                         i, below(seed, 100000));
}

static void split_docs(struct set *s)
{
    str rest = buf_str(&s->text), line;
    size_t lines = 0;
    for (size_t i = 0; i < rest.n; i++)
        lines += rest.p[i] == '\n';
    s->docs = xcalloc(lines, sizeof(str));
    while (s->len < lines && str_split(&rest, '\n', &line))
        s->docs[s->len++] = line;
}

static void set_init(struct set *s, const char *name, void (*make)(struct set *, uint64_t *))
{
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    *s = (struct set){.name = name};
    buf_init(&s->text, DATA_MAX);
    make(s, &seed);
    split_docs(s);
}

static void set_done(struct set *s)
{
    free(s->docs);
    buf_done(&s->text);
}

/* ---- what is measured: every function handles one document and returns a byte count so
 * that no work can be optimised away ---- */

static void die(const char *what)
{
    fprintf(stderr, "bench_json: %s\n", what);
    exit(1);
}

static size_t parse_ours(str doc)
{
    struct arena a;
    struct json *v;
    arena_init(&a);
    if (json_parse(&a, doc, 0, &v, NULL) < 0)
        die("nb refuses its own document");
    size_t n = json_get_string(v, "type").n + (json_get(v, "id") != NULL);
    arena_done(&a);
    return n;
}

static size_t parse_jansson(str doc)
{
    json_t *v = json_loadb(doc.p, doc.n, 0, NULL);
    if (!v)
        die("jansson refuses a document");
    const char *type = json_string_value(json_object_get(v, "type"));
    size_t n = (type ? strlen(type) : 0) + (json_object_get(v, "id") != NULL);
    json_decref(v);
    return n;
}

static size_t parse_cjson(str doc)
{
    cJSON *v = cJSON_ParseWithLength(doc.p, doc.n);
    if (!v)
        die("cJSON refuses a document");
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(v, "type"));
    size_t n = (type ? strlen(type) : 0) + (cJSON_GetObjectItemCaseSensitive(v, "id") != NULL);
    cJSON_Delete(v);
    return n;
}

static size_t (*const PARSE[LIBS])(str) = {parse_ours, parse_jansson, parse_cjson};

static void *load_ours(str doc)
{
    static struct arena kept; /* as long as the process: the benchmark's documents */
    struct json *v;
    return json_parse(&kept, doc, 0, &v, NULL) < 0 ? NULL : v;
}

static void *load_jansson(str doc)
{
    return json_loadb(doc.p, doc.n, 0, NULL);
}

static void *load_cjson(str doc)
{
    return cJSON_ParseWithLength(doc.p, doc.n);
}

static void *(*const LOAD[LIBS])(str) = {load_ours, load_jansson, load_cjson};

static size_t write_ours(const void *doc)
{
    struct buf out;
    buf_init(&out, DATA_MAX);
    if (json_write(&out, doc) < 0)
        die("write");
    size_t n = out.n;
    buf_done(&out);
    return n;
}

static size_t write_jansson(const void *doc)
{
    char *text = json_dumps(doc, JSON_COMPACT);
    size_t n = strlen(text);
    free(text);
    return n;
}

static size_t write_cjson(const void *doc)
{
    char *text = cJSON_PrintUnformatted(doc);
    size_t n = strlen(text);
    cJSON_free(text);
    return n;
}

static size_t (*const WRITE[LIBS])(const void *) = {write_ours, write_jansson, write_cjson};

/* ---- measuring ---- */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct job {
    const struct set *set;
    size_t (*parse)(str);
    size_t (*write)(const void *);
    void **loaded;
    size_t sum; /* of what the functions returned */
};

static size_t run_once(const struct job *j)
{
    size_t sum = 0;
    for (size_t i = 0; i < j->set->len; i++)
        sum += j->parse ? j->parse(j->set->docs[i]) : j->write(j->loaded[i]);
    return sum;
}

static double mb_per_second(struct job *j)
{
    double start = cpu_seconds(), spent;
    size_t passes = 0;
    do {
        j->sum += run_once(j);
        passes++;
        spent = cpu_seconds() - start;
    } while (spent < ROUND_SEC);
    return (double)j->set->text.n * (double)passes / spent / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double rounds[ROUNDS])
{
    qsort(rounds, ROUNDS, sizeof(*rounds), by_value);
    return rounds[ROUNDS / 2];
}

static void note(const struct set *s, const char *what, int lib, double mbs)
{
    char chart[60];
    (void)snprintf(chart, sizeof(chart), "JSON, %s, %s", what, s->name);
    figure_of(LIB_NAMES[lib], chart, 0, mbs, "MB/s");
}

static void report(const struct set *s, const char *what, double rounds[LIBS][ROUNDS])
{
    double mbs[LIBS];
    for (int lib = 0; lib < LIBS; lib++) {
        mbs[lib] = median(rounds[lib]);
        note(s, what, lib, mbs[lib]);
    }
    printf("json %-6s %-5s", s->name, what);
    for (int lib = 0; lib < LIBS; lib++)
        printf("  %s %6.0f MB/s", LIB_NAMES[lib], mbs[lib]);
    printf("  ratio: %.1fx jansson, %.1fx cJSON\n", mbs[OURS] / mbs[JANSSON],
           mbs[OURS] / mbs[CJSON]);
}

static void bench_set(const struct set *s)
{
    double parse[LIBS][ROUNDS], write[LIBS][ROUNDS];
    void **loaded[LIBS];
    for (int lib = 0; lib < LIBS; lib++) {
        loaded[lib] = xcalloc(s->len, sizeof(void *));
        for (size_t i = 0; i < s->len; i++)
            loaded[lib][i] = LOAD[lib](s->docs[i]);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int lib = 0; lib < LIBS; lib++) {
            parse[lib][round] = mb_per_second(&(struct job){s, PARSE[lib], NULL, NULL, 0});
            write[lib][round] = mb_per_second(&(struct job){s, NULL, WRITE[lib], loaded[lib], 0});
        }
    for (int lib = 0; lib < LIBS; lib++)
        free(loaded[lib]); /* the documents themselves stay until the process ends */
    report(s, "parse", parse);
    report(s, "write", write);
}

static size_t scan_fields(str doc)
{
    struct json_scan s;
    str key, value;
    size_t n = 0;
    json_scan_init(&s, doc);
    while (json_scan_next(&s, &key, &value))
        n += value.n;
    return n;
}

static void bench_scan(const struct set *s)
{
    double rounds[ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        rounds[round] = mb_per_second(&(struct job){s, scan_fields, NULL, NULL, 0});
    double mbs = median(rounds);
    printf("json %-6s scan   nb %6.0f MB/s (all top-level fields)\n", s->name, mbs);
    note(s, "scan", OURS, mbs);
}

int main(void)
{
    static const struct {
        const char *name;
        void (*make)(struct set *, uint64_t *);
    } SETS[] = {{"events", make_events}, {"tools", make_tools}, {"rpc", make_rpc}};
    for (size_t i = 0; i < ARRAY_LEN(SETS); i++) {
        struct set s;
        set_init(&s, SETS[i].name, SETS[i].make);
        printf("json %-6s %zu documents, mean %zu bytes\n", s.name, s.len, s.text.n / s.len);
        bench_set(&s);
        bench_scan(&s);
        set_done(&s);
    }
    return 0;
}
