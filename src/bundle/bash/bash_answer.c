#include "bundle/bash/bash_answer.h"

#include "base/utf8.h"

#define LIST_TTL_MS      3600000
#define LIMIT_NOTE_BYTES 320
#define CAPABILITIES     "{\"tools\":{}}"

const char BASH_TOOLS[] =
    "[{\"name\":\"bash_exec\",\"title\":\"Run a command\","
    "\"description\":\"Runs a shell command (bash -c) and returns its output and exit code. No "
    "terminal, no input, nothing keeps running in the background after it has ended.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"command\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The command line\"},"
    "\"cwd\":{\"type\":\"string\",\"description\":\"Directory to run it in\"},"
    "\"timeout\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"maximum\":600,\"default\":30,"
    "\"description\":\"Seconds until it is stopped (exit code 124)\"},"
    "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
    "\"description\":\"More environment variables\"}},"
    "\"required\":[\"command\"],\"additionalProperties\":false},"
    "\"outputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"stdout\":{\"type\":\"string\"},\"stderr\":{\"type\":\"string\"},"
    "\"exit_code\":{\"type\":\"integer\"},\"duration_ms\":{\"type\":\"integer\"}},"
    "\"required\":[\"stdout\",\"stderr\",\"exit_code\",\"duration_ms\"]},"
    "\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,"
    "\"openWorldHint\":true}}]";

/* ---- the frame ---- */

static void begin_message(struct bash_answer *a)
{
    jw_start(&a->w, &a->bytes, RPC_MESSAGE_MAX);
    jw_object(&a->w);
    jw_kstr(&a->w, "jsonrpc", STR("2.0"));
}

static void write_server_info(struct json_writer *w)
{
    jw_object(w);
    jw_kstr(w, "name", STR("bash"));
    jw_kstr(w, "title", STR("Shell"));
    jw_kstr(w, "version", STR(NB_VERSION));
    jw_end(w);
}

void bash_answer_begin(struct bash_answer *a, const struct json *id, bool is_modern)
{
    begin_message(a);
    jw_kval(&a->w, "id", id);
    jw_kobject(&a->w, "result");
    if (!is_modern)
        return;
    jw_kstr(&a->w, "resultType", STR("complete"));
    jw_kobject(&a->w, "_meta");
    jw_key(&a->w, META_SERVER_INFO);
    write_server_info(&a->w);
    jw_end(&a->w);
}

void bash_answer_end(struct bash_answer *a)
{
    jw_close(&a->w);
}

/* ---- errors ---- */

void bash_answer_error(struct bash_answer *a, const struct json *id, int code, const char *message)
{
    buf_init(&a->bytes, RPC_MESSAGE_MAX);
    rpc_write_error(&a->bytes, id, code, str_from(message));
}

void bash_answer_version(struct bash_answer *a, const struct json *id, str asked)
{
    struct json_writer *w = &a->w;
    begin_message(a);
    jw_kval(w, "id", id);
    jw_kobject(w, "error");
    jw_kint(w, "code", MCP_UNSUPPORTED_VERSION);
    jw_kstr(w, "message", STR("Unsupported protocol version"));
    jw_kobject(w, "data");
    jw_kraw(w, "supported", STR("[\"" MCP_REVISION_MODERN "\"]"));
    jw_kstr(w, "requested", asked);
    bash_answer_end(a);
}

/* ---- information about the server ---- */

static void write_caching(struct json_writer *w)
{
    jw_kint(w, "ttlMs", LIST_TTL_MS);
    jw_kstr(w, "cacheScope", STR("public"));
}

void bash_answer_discover(struct bash_answer *a, const struct json *id)
{
    bash_answer_begin(a, id, true);
    jw_kraw(&a->w, "supportedVersions", STR("[\"" MCP_REVISION_MODERN "\"]"));
    jw_kraw(&a->w, "capabilities", STR(CAPABILITIES));
    write_caching(&a->w);
    bash_answer_end(a);
}

void bash_answer_initialize(struct bash_answer *a, const struct json *id, str version)
{
    bash_answer_begin(a, id, false);
    jw_kstr(&a->w, "protocolVersion", version);
    jw_kraw(&a->w, "capabilities", STR(CAPABILITIES));
    jw_key(&a->w, "serverInfo");
    write_server_info(&a->w);
    bash_answer_end(a);
}

void bash_answer_tools(struct bash_answer *a, const struct json *id, bool is_modern)
{
    bash_answer_begin(a, id, is_modern);
    jw_kraw(&a->w, "tools", (str){BASH_TOOLS, sizeof(BASH_TOOLS) - 1});
    if (is_modern)
        write_caching(&a->w);
    bash_answer_end(a);
}

/* ---- the result of a command ---- */

static void write_text_block(struct json_writer *w, str text)
{
    jw_karray(w, "content");
    jw_object(w);
    jw_kstr(w, "type", STR("text"));
    jw_kstr(w, "text", text);
    jw_end(w);
    jw_end(w);
}

void bash_answer_failure(struct bash_answer *a, const struct json *id, bool is_modern,
                         const char *message)
{
    bash_answer_begin(a, id, is_modern);
    write_text_block(&a->w, str_from(message));
    jw_kbool(&a->w, "isError", true);
    bash_answer_end(a);
}

/* The longest prefix that needs at most *room bytes in JSON (a NUL needs six); *room becomes the
 * rest. */
static str fitting(str text, size_t *room)
{
    size_t i = 0;
    for (; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        size_t cost = c < 0x20 ? 6 : c == '"' || c == '\\' ? 2 : 1;
        if (cost > *room)
            break;
        *room -= cost;
    }
    return utf8_truncate(text, i);
}

static void write_stream(struct json_writer *w, const char *key, const struct bash_stream *o,
                         const char *note, size_t *room)
{
    struct buf text;
    buf_init(&text, 4 * BASH_OUTPUT_MAX);
    (void)utf8_sanitise(&text, buf_str(&o->bytes));
    str kept = fitting(buf_str(&text), room);
    uint64_t missing = o->dropped + (text.n - kept.n);
    buf_truncate(&text, kept.n);
    if (missing > 0)
        buf_printf(&text, "\n[%llu more bytes]", (unsigned long long)missing);
    if (note[0])
        buf_printf(&text, "%s[nb: %s]\n", text.n > 0 ? "\n" : "", note);
    jw_kstr(w, key, buf_str(&text));
    buf_done(&text);
}

static void write_output(struct json_writer *w, const struct bash_run *r, size_t max)
{
    size_t for_stderr = max / 4 < BASH_STDERR_MIN ? max / 4 : BASH_STDERR_MIN;
    size_t room = max - for_stderr;
    char note[LIMIT_NOTE_BYTES];
    bash_run_explain_limit(r, note, sizeof(note));
    jw_object(w);
    write_stream(w, "stdout", &r->out, "", &room);
    room += for_stderr;
    write_stream(w, "stderr", &r->err, note, &room);
    jw_kint(w, "exit_code", r->exit_code);
    jw_kint(w, "duration_ms", (int64_t)(r->ended_ms - r->began_ms));
    jw_end(w);
}

void bash_answer_output(struct bash_answer *a, const struct json *id, bool is_modern,
                        const struct bash_run *r)
{
    struct buf text;
    struct json_writer w;
    jw_start(&w, &text, RPC_MESSAGE_MAX);
    write_output(&w, r, BASH_TEXT_MAX);
    bash_answer_begin(a, id, is_modern);
    write_text_block(&a->w, buf_str(&text));
    jw_key(&a->w, "structuredContent");
    write_output(&a->w, r, BASH_ENCODED_MAX);
    if (r->limit != BASH_LIMIT_NONE)
        jw_kbool(&a->w, "isError", true);
    bash_answer_end(a);
    buf_done(&text);
}

void bash_answer_progress(struct bash_answer *a, const struct json *token, int64_t seconds,
                          int64_t of_seconds, size_t bytes)
{
    struct json_writer *w = &a->w;
    char message[96];
    snprintf(message, sizeof(message), "running for %lld s, %zu bytes of output",
             (long long)seconds, bytes);
    begin_message(a);
    jw_kstr(w, "method", STR("notifications/progress"));
    jw_kobject(w, "params");
    jw_kval(w, "progressToken", token);
    jw_kint(w, "progress", seconds);
    jw_kint(w, "total", of_seconds);
    jw_kstr(w, "message", str_from(message));
    bash_answer_end(a);
}
