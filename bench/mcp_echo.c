/* mcp_echo.c - the least an MCP server can do, over stdio: `echo` answers immediately, `slow` after
 * SLOW_MS, any number of calls at the same time. What is measured with it is what stands in front
 * of it.
 *
 *   mcp_echo [modern]     speaks the handshake revisions, or the stateless one */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define IN_MAX  (1u << 20)
#define OUT_MAX (4u << 20)

enum { SLOW_MS = 20, LATER_MAX = 1024, ID_MAX = 64 };

struct later {
    char id[ID_MAX];
    int64_t due_us;
};

static char in[IN_MAX], out[OUT_MAX];
static size_t nout;
static bool is_modern;
static struct later later[LATER_MAX]; /* answers of `slow`, the next one first */
static size_t nlater;

static const char TOOLS[] =
    "\"tools\":[{\"name\":\"echo\",\"description\":\"Says it again\",\"inputSchema\":{\"type\":"
    "\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}},{\"name\":\"slow\","
    "\"description\":"
    "\"Says it later\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":"
    "\"string\"}}}}]";
static const char RESULT[] = "{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}";
static const char MODERN_RESULT[] =
    "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}";

static void flush_out(void)
{
    for (size_t at = 0; at < nout;) {
        ssize_t n = write(1, out + at, nout - at);
        if (n <= 0)
            exit(1);
        at += (size_t)n;
    }
    nout = 0;
}

/* The value of "id" at the top: a number or a string, taken as text. */
static bool find_id(const char *line, const char **ret, size_t *ret_n)
{
    const char *at = strstr(line, "\"id\":");
    if (!at)
        return false;
    at += 5;
    *ret = at;
    *ret_n = *at == '"' ? (size_t)(strchr(at + 1, '"') - at + 1) : strcspn(at, ",}");
    return true;
}

static void reply(const char *id, size_t id_n, const char *kind, const char *body)
{
    if (nout + 4096 > OUT_MAX)
        flush_out();
    nout += (size_t)snprintf(out + nout, OUT_MAX - nout,
                             "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"%s\":%s}\n", (int)id_n, id, kind,
                             body);
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void reply_later(const char *id, size_t id_n)
{
    if (nlater == LATER_MAX || id_n >= ID_MAX)
        exit(1);
    struct later *l = &later[nlater++];
    snprintf(l->id, sizeof l->id, "%.*s", (int)id_n, id);
    l->due_us = now_us() + SLOW_MS * 1000;
}

/* Sends what is due. */
static void reply_due(void)
{
    size_t n = 0;
    for (int64_t now = now_us(); n < nlater && later[n].due_us <= now; n++)
        reply(later[n].id, strlen(later[n].id), "result", is_modern ? MODERN_RESULT : RESULT);
    nlater -= n;
    memmove(later, later + n, nlater * sizeof *later);
}

/* Until there is input; meanwhile answers that are due go out. */
static void wait_for_input(void)
{
    struct pollfd fd = {.fd = 0, .events = POLLIN};
    for (;;) {
        int64_t us = nlater > 0 ? later[0].due_us - now_us() : 0;
        struct timespec rest = {.tv_nsec = us > 0 ? us * 1000 : 0};
        if (ppoll(&fd, 1, nlater > 0 ? &rest : NULL, NULL) > 0)
            return;
        reply_due();
        flush_out();
    }
}

static void answer(const char *line)
{
    const char *id;
    size_t n;
    char body[1024];
    if (!find_id(line, &id, &n))
        return;
    if (strstr(line, "\"tools/call\"") && strstr(line, "\"slow\"")) {
        reply_later(id, n);
    } else if (strstr(line, "\"tools/call\"")) {
        reply(id, n, "result", is_modern ? MODERN_RESULT : RESULT);
    } else if (strstr(line, "\"initialize\"") && !is_modern) {
        reply(id, n, "result",
              "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":"
              "{\"name\":\"echo\",\"version\":\"1\"}}");
    } else if (strstr(line, "\"server/discover\"") && is_modern) {
        reply(
            id, n, "result",
            "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":"
            "{\"tools\":{}},\"ttlMs\":0,\"cacheScope\":\"public\"}");
    } else if (strstr(line, "\"tools/list\"")) {
        snprintf(body, sizeof body, "{%s%s}", TOOLS,
                 is_modern
                     ? ",\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"public\""
                     : "");
        reply(id, n, "result", body);
    } else if (strstr(line, "\"ping\"")) {
        reply(id, n, "result", "{}");
    } else {
        reply(id, n, "error", "{\"code\":-32601,\"message\":\"Method not found\"}");
    }
}

int main(int argc, char **argv)
{
    size_t have = 0;
    is_modern = argc > 1 && strcmp(argv[1], "modern") == 0;
    for (;;) {
        if (nlater > 0)
            wait_for_input();
        ssize_t n = read(0, in + have, IN_MAX - 1 - have);
        if (n <= 0)
            return 0;
        have += (size_t)n;
        in[have] = 0;
        char *line = in, *end;
        while ((end = memchr(line, '\n', have - (size_t)(line - in))) != NULL) {
            *end = 0;
            answer(line);
            line = end + 1;
        }
        have -= (size_t)(line - in);
        memmove(in, line, have);
        flush_out();
    }
}
