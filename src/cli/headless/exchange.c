#include "cli/headless/exchange.h"

#include <assert.h>

#include "base/clock.h"
#include "cli/headless/exit_code.h"
#include "cli/screen/footer.h"
#include "cli/view/permit.h"
#include "loop/timer.h"

#define LINE_MAX_BYTES (64u * 1024 * 1024)
#define GRACE_MS       10000 /* for the end of a cancelled answer to arrive */

struct chat_exchange {
    const struct cli *cli;
    struct chat_session *session;
    struct exchange_limits *limits;
    struct timer timer;
    struct arena arena;
    str response; /* of the report */
    int code;
    int stopped;            /* the exit code of the limit that ended it, or 0 */
    bool is_done, is_quiet; /* is_quiet: a schema decides what is printed */
    bool has_text, ends_in_newline;
    bool has_told; /* the directory of commands was printed */
};

static void print_json_line(const struct json *v)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    json_write(&b, v);
    buf_add_char(&b, '\n');
    fwrite(b.p, 1, b.n, stdout);
    fflush(stdout);
    buf_done(&b);
}

static bool prints_text(const struct chat_exchange *x)
{
    return !x->cli->opt.is_json && !x->cli->chat.is_events && !x->is_quiet;
}

/* ---- limits ---- */

int exchange_limits_open(struct exchange_limits *l, const struct chat_options *o,
                         struct chat_session *s)
{
    struct err e = {0};
    double usd;
    *l = (struct exchange_limits){0};
    spending_init(&l->spending);
    if (o->timeout > 0)
        l->end_ms = clock_mono_ms() + (uint64_t)o->timeout * 1000;
    if (o->output_schema && answer_schema_open(&l->schema, o->output_schema, &e) < 0) {
        (void)cli_fail(&e);
        return EXIT_USAGE;
    }
    if (!o->max_cost)
        return EXIT_DONE;
    if (parse_double(str_from(o->max_cost), &usd) < 0 || usd < 0)
        return cli_usage_error("--max-cost: '%s' is not an amount of US dollars", o->max_cost);
    if (spending_limit(&l->spending, session_client(s), session_model(s), usd, &e) < 0)
        return cli_fail(&e);
    return EXIT_DONE;
}

void exchange_limits_done(struct exchange_limits *l)
{
    spending_done(&l->spending);
    answer_schema_done(&l->schema);
}

/* Ends the answer; its end is reported as usual, or not at all. */
static void stop(struct chat_exchange *x, int code)
{
    if (x->stopped)
        return;
    x->stopped = code;
    session_cancel(x->session);
    timer_start(&x->timer, GRACE_MS);
}

static void on_exchange_timer(void *ctx)
{
    struct chat_exchange *x = ctx;
    if (x->stopped) /* nothing has come */
        x->is_done = true;
    else
        stop(x, EXIT_TIME);
}

/* ---- events ---- */

static void on_exchange_event(void *ctx, str name, const struct json *d)
{
    struct chat_exchange *x = ctx;
    struct arena a;
    if (!x->cli->chat.is_events)
        return;
    arena_init(&a);
    struct json *line = json_new(&a, JSON_OBJECT);
    json_set(&a, line, STR("event"), json_of_str(name));
    json_set(&a, line, STR("data"), *d);
    print_json_line(line);
    arena_done(&a);
}

static void on_exchange_call(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    if (spending_add(&x->limits->spending, d))
        stop(x, EXIT_COST);
}

static void on_exchange_text(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    str delta = json_get_string(d, "text");
    x->has_text = true;
    x->ends_in_newline = str_ends(delta, STR("\n"));
    if (!prints_text(x))
        return;
    fwrite(delta.p, 1, delta.n, stdout);
    fflush(stdout);
}

/* With a running server it is not obvious where a command runs, so print it once. */
static void tell_directory(struct chat_exchange *x, str tool, str directory)
{
    struct arena a;
    str why;
    if (x->has_told || !session_is_remote(x->session) || !permit_is_shell(tool))
        return;
    x->has_told = true;
    arena_init(&a);
    (void)session_directory(x->session, &why);
    cli_complain(directory.n > 0
                     ? arena_printf(&a, "commands run in %.*s", STR_ARG(directory))
                     : arena_printf(&a, "commands run in the server's own directory%s%.*s",
                                    why.n > 0 ? ": " : "", STR_ARG(why)));
    arena_done(&a);
}

static void on_exchange_tool_start(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    str name = json_get_string(d, "name");
    tell_directory(x, name, json_get_string(d, "directory"));
    if (x->cli->opt.is_debug)
        fprintf(stderr, "nb: calling %.*s\n", STR_ARG(name));
}

static void on_exchange_tool_done(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    if (x->cli->opt.is_debug)
        fprintf(stderr, "nb: %.*s %s after %lld ms\n", STR_ARG(json_get_string(d, "name")),
                json_get_bool(d, "ok", false) ? "answered" : "failed",
                (long long)json_get_int(d, "ms", 0));
}

static void on_exchange_retry(void *ctx, const struct json *d)
{
    str message = json_get_string(d, "message");
    if (str_ends(message, STR(".")))
        message.n--;
    (void)cli_failed("%.*s; trying again", STR_ARG(message));
}

static void end_text(const struct chat_exchange *x)
{
    if (x->has_text && !x->ends_in_newline && prints_text(x))
        putchar('\n');
    fflush(stdout);
}

static void explain_report(const struct chat_exchange *x, const struct json *report)
{
    str names[PERMIT_NAMES_MAX];
    const char *words = footer_stop_words(json_get_string(report, "stopReason"));
    if (words && prints_text(x) && !x->stopped)
        fprintf(stderr, "nb: %s\n", words);
    size_t n = permit_refused(report, names, PERMIT_NAMES_MAX);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "nb: " PERMIT_REFUSED_FORMAT "\n", STR_ARG(names[i]), STR_ARG(names[i]));
}

static void on_exchange_done(void *ctx, const struct json *report)
{
    struct chat_exchange *x = ctx;
    assert(!x->is_done);
    x->is_done = true;
    x->code = exit_code_of_stop(json_get_string(report, "stopReason"));
    x->response = arena_str(&x->arena, json_get_string(report, "response"));
    end_text(x);
    if (x->cli->opt.is_json && !x->cli->chat.is_events && !x->is_quiet)
        print_json_line(report);
    explain_report(x, report);
}

static void on_exchange_error(void *ctx, const struct json *d)
{
    struct chat_exchange *x = ctx;
    assert(!x->is_done);
    x->is_done = true;
    x->code = exit_code_of_error(json_get_string(d, "error"));
    end_text(x);
    if (x->cli->opt.is_json && !x->cli->chat.is_events) {
        struct arena a;
        arena_init(&a);
        struct json *v = json_new(&a, JSON_OBJECT);
        json_set(&a, v, STR("error"), json_of_str(json_get_string(d, "error")));
        json_set(&a, v, STR("message"), json_of_str(json_get_string(d, "message")));
        print_json_line(v);
        arena_done(&a);
    } else {
        cli_complain(json_get_string(d, "message"));
    }
}

static const struct session_events PRINT = {
    .on_text = on_exchange_text,
    .on_tool_start = on_exchange_tool_start,
    .on_tool_done = on_exchange_tool_done,
    .on_retry = on_exchange_retry,
    .on_model_done = on_exchange_call,
    .on_event = on_exchange_event,
    .on_done = on_exchange_done,
    .on_error = on_exchange_error,
};

/* ---- one message ---- */

static void explain_stop(int code)
{
    if (code == EXIT_COST)
        (void)cli_failed("stopped: --max-cost is reached");
    else if (code == EXIT_TIME)
        (void)cli_failed("stopped: --timeout has passed");
}

static int send(struct chat_exchange *x, struct loop *loop, str text)
{
    uint64_t now = clock_mono_ms(), end = x->limits->end_ms;
    x->is_done = x->has_text = false;
    x->code = x->stopped = 0;
    if (end > 0 && now >= end) {
        explain_stop(EXIT_TIME);
        return EXIT_TIME;
    }
    timer_init(&x->timer, loop, on_exchange_timer, x);
    if (end > 0)
        timer_start(&x->timer, end - now);
    session_send(x->session, text, &PRINT, x);
    while (!x->is_done)
        (void)loop_run_until(loop, &x->is_done, UINT32_MAX);
    timer_stop(&x->timer);
    explain_stop(x->stopped);
    return x->stopped ? x->stopped : x->code;
}

/* Prints the value if the answer has it; asks once more if not. */
static int send_with_schema(struct chat_exchange *x, struct loop *loop, str text)
{
    struct err e = {0};
    struct json *value;
    struct buf message;
    buf_init(&message, 2 * LINE_MAX_BYTES);
    answer_schema_ask(&x->limits->schema, text, &message);
    int code = EXIT_DONE, found = -1;
    for (int tries = 0; tries < 2 && found < 0 && code == EXIT_DONE; tries++) {
        code = send(x, loop, buf_str(&message));
        if (code != EXIT_DONE)
            break;
        found = answer_schema_check(&x->limits->schema, &x->arena, x->response, &value, &e);
        buf_clear(&message);
        answer_schema_again(e.msg, &message);
    }
    buf_done(&message);
    if (code != EXIT_DONE)
        return code;
    if (found < 0) {
        (void)cli_failed("the answer does not fit --output-schema: %s", e.msg);
        return EXIT_SCHEMA;
    }
    if (!x->cli->chat.is_events)
        print_json_line(value);
    return EXIT_DONE;
}

int exchange_run(const struct cli *cli, struct loop *loop, struct chat_session *s,
                 struct exchange_limits *limits, str text)
{
    struct chat_exchange x = {
        .cli = cli, .session = s, .limits = limits, .is_quiet = limits->schema.schema != NULL};
    arena_init(&x.arena);
    int code = x.is_quiet ? send_with_schema(&x, loop, text) : send(&x, loop, text);
    arena_done(&x.arena);
    return code;
}
