/* The interactive conversation: a prompt, the answer as it streams, the next prompt. */
#include <unistd.h>

#include "cli/chat.h"
#include "cli/signals.h"

struct repl {
    struct chat *chat;
    bool is_done;
};

static void on_started(void *ctx, str conversation_id) {}

static void on_text(void *ctx, str delta)
{
    fwrite(delta.p, 1, delta.n, stdout);
    fflush(stdout);
}

static void on_thinking(void *ctx, str delta) {}

static void on_tool_start(void *ctx, str id, str name, const struct json *input)
{
    printf("… %.*s\n", STR_ARG(name));
}

static void on_tool_done(void *ctx, str id, str name, bool ok, int64_t ms, str output)
{
    printf("%s %.*s (%lld ms)\n", ok ? "✓" : "✗", STR_ARG(name), (long long)ms);
}

static void on_retry(void *ctx, str message)
{
    printf("%.*s; trying again\n", STR_ARG(message));
}

static void on_done(void *ctx, const struct json *report)
{
    ((struct repl *)ctx)->is_done = true;
    puts("\n");
}

static void on_error(void *ctx, str code, str message)
{
    ((struct repl *)ctx)->is_done = true;
    printf("\n%.*s\n\n", STR_ARG(message));
}

static const struct session_events EVENTS = {on_started,   on_text,  on_thinking, on_tool_start,
                                             on_tool_done, on_retry, on_done,     on_error};

static void on_signal(void *ctx, int signum)
{
    struct chat *c = ctx;
    if (c->is_interrupted)
        _exit(EXIT_FAILED);
    c->is_interrupted = true;
    session_cancel(c->session);
}

static void answer(struct repl *r, str text)
{
    r->is_done = false;
    r->chat->is_interrupted = false;
    struct signals *signals = signals_new(r->chat->loop, on_signal, r->chat);
    session_send(r->chat->session, text, &EVENTS, r);
    while (!r->is_done)
        (void)loop_run_until(r->chat->loop, &r->is_done, UINT32_MAX);
    signals_free(signals);
}

int repl_run(struct chat *c)
{
    struct repl r = {.chat = c};
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    for (;;) {
        fputs("❯ ", stdout);
        fflush(stdout);
        if ((n = getline(&line, &cap, stdin)) <= 0)
            break;
        str text = str_trim(str_make(line, (size_t)n));
        if (text.n > 0)
            answer(&r, text);
    }
    putchar('\n');
    free(line);
    return EXIT_DONE;
}
