/* command.c - what all commands have in common: operands, opening, questions, output. */
#include "cli/command.h"

#include <assert.h>
#include <limits.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/bundle/bundle.h"
#include "cli/people/people.h"
#include "cli/session/client.h"
#include "cli/term/ask.h"
#include "cli/term/safe_out.h"
#include "cli/term/styled.h"
#include "cli/term/table.h"
#include "cli/term/text.h"

#define LINE_MAX_BYTES (64u * 1024)
#define TEXT_MAX_BYTES (64u * 1024 * 1024)

const struct command *command_find(const struct command *const *among, const char *name)
{
    for (; *among; among++) {
        const struct command *c = *among;
        if (strcmp(c->name, name) == 0 || (c->alias && strcmp(c->alias, name) == 0))
            return c;
    }
    return NULL;
}

/* The command that has c as a subcommand, or NULL. */
static const struct command *group_of(const struct command *c)
{
    for (const struct command *const *top = COMMANDS; *top; top++) {
        const struct command *const *sub = (*top)->subs;
        for (; sub && *sub; sub++)
            if (*sub == c)
                return *top;
    }
    return NULL;
}

str command_path(struct arena *a, const struct command *c)
{
    const struct command *group = group_of(c);
    return group ? arena_printf(a, "%s %s", group->name, c->name) : str_from(c->name);
}

/* ---- operands ---- */

/* "WS [NAME...]" takes one or more. */
static void count_operands(const char *operands, int *ret_min, int *ret_max)
{
    str rest = str_from(operands), word;
    *ret_min = *ret_max = 0;
    while (str_split(&rest, ' ', &word)) {
        *ret_min += word.p[0] != '[';
        *ret_max =
            str_find(word, STR("..."), 0) >= 0 || *ret_max == INT_MAX ? INT_MAX : *ret_max + 1;
    }
}

static int check_operands(const struct cmd *x)
{
    int min, max;
    count_operands(x->command->operands, &min, &max);
    assert(min <= max);
    if (x->argc < min)
        return cmd_usage(x, "expected %s", x->command->operands);
    if (x->argc > max)
        return max == 0 ? cmd_usage(x, "takes no argument '%s'", x->argv[0])
                        : cmd_usage(x, "unexpected '%s'; expected %s", x->argv[max],
                                    x->command->operands);
    if (x->needs & NEEDS_TERMINAL && !cmd_may_ask(x))
        return cmd_confirm(x, NULL, NULL);
    return EXIT_DONE;
}

/* ---- opening ---- */

#define LOOP_NEEDS (NEEDS_LOOP | NEEDS_CLIENT | NEEDS_BUNDLES | NEEDS_PLACE)

static int open_client(struct cmd *x)
{
    struct err e = {0};
    x->log = cli_logger(x->cli, &x->config, LOG_WARN, NULL);
    x->loop = loop_new(x->log);
    unsigned needs = x->needs;
    int r = needs & NEEDS_BUNDLES  ? client_open_bundles(x->loop, &x->config, &x->client, &e)
            : needs & NEEDS_CLIENT ? client_open(x->loop, &x->config, &x->client, &e)
            : x->config.remote.url ? client_open_served(x->loop, &x->config, &x->client, &e)
                                   : 0;
    if (r < 0)
        return cli_fail(&e);
    return needs & NEEDS_PLACE && !x->config.remote.url ? bundle_cli_place(x) : EXIT_DONE;
}

static int cmd_open(struct cmd *x)
{
    unsigned needs = x->needs;
    assert(!(needs & LOOP_NEEDS) || !(needs & (NEEDS_SETTINGS | NEEDS_PEOPLE)));
    if (needs & LOOP_NEEDS) {
        int code = cli_load_config_to_ask(x->cli, &x->config);
        return code == EXIT_DONE ? open_client(x) : code;
    }
    if (!(needs & (NEEDS_SETTINGS | NEEDS_PEOPLE)))
        return EXIT_DONE;
    int code = cli_load_config(x->cli, NULL, &x->config);
    return code == EXIT_DONE && needs & NEEDS_PEOPLE ? people_load(x) : code;
}

/* NB_SERVER is for the commands that can use it; --server must not be ignored. */
static int check_server(struct cmd *x)
{
    struct cli_options *o = &x->cli->opt;
    if (x->needs & WORKS_ELSEWHERE) {
        cli_use_server(x->cli);
        return EXIT_DONE;
    }
    if (o->server)
        return cmd_usage(x, "works on the files of this machine; --server is not possible");
    return EXIT_DONE;
}

static void cmd_close(struct cmd *x)
{
    client_close(x->client);
    roster_free(x->roster);
    instance_done(&x->instance);
    if (x->loop)
        loop_free(x->loop);
    logger_free(x->log);
    arena_done(&x->arena);
    config_done(&x->config);
}

int command_run(struct cli *cli, const struct command *c, const union arg_value *values, int argc,
                char **argv)
{
    struct cmd x = {.cli = cli,
                    .command = c,
                    .values = values,
                    .argc = argc,
                    .argv = argv,
                    .width = table_terminal_width(STDOUT_FILENO)};
    const struct command *group = group_of(c);
    assert(c->run);
    x.needs = c->needs || !group ? c->needs : group->needs;
    if (!(x.needs & WRITES_PROTOCOL))
        safe_out_begin(cli->opt.is_json ? SAFE_JSON : cli->has_color_out ? SAFE_COLOR : SAFE_TEXT);
    arena_init(&x.arena);
    int code = check_operands(&x);
    if (code == EXIT_DONE)
        code = check_server(&x);
    if (code == EXIT_DONE)
        code = cmd_open(&x);
    if (code == EXIT_DONE)
        code = c->run(&x);
    cmd_close(&x);
    return help_hint(code, c);
}

/* ---- options ---- */

static const union arg_value *value_of(const struct cmd *x, const char *name, enum arg_kind kind)
{
    const struct arg *a = x->command->args;
    while (a && a->name && strcmp(a->name, name) != 0)
        a++;
    assert(a && a->name && a->kind == kind);
    return &x->values[a - x->command->args];
}

bool cmd_flag(const struct cmd *x, const char *name)
{
    return value_of(x, name, ARG_FLAG)->flag;
}

const char *cmd_opt(const struct cmd *x, const char *name)
{
    return value_of(x, name, ARG_STRING)->text;
}

const char *cmd_opt_or(const struct cmd *x, const char *name, const char *otherwise)
{
    const char *given = cmd_opt(x, name);
    return given ? given : otherwise;
}

int cmd_int(const struct cmd *x, const char *name)
{
    return value_of(x, name, ARG_INT)->number;
}

const struct arg_list *cmd_opts(const struct cmd *x, const char *name)
{
    return &value_of(x, name, ARG_LIST)->list;
}

/* ---- questions and errors ---- */

int cmd_usage(const struct cmd *x, const char *fmt, ...)
{
    struct arena a;
    va_list ap;
    arena_init(&a);
    va_start(ap, fmt);
    str path = command_path(&a, x->command), text = arena_vprintf(&a, fmt, ap);
    va_end(ap);
    int code = cli_usage_error("%.*s: %.*s", STR_ARG(path), STR_ARG(text));
    arena_done(&a);
    return code;
}

bool cmd_may_ask(const struct cmd *x)
{
    return x->cli->opt.is_sure || x->cli->is_tty_in;
}

int cmd_confirm(const struct cmd *x, const char *question, const char *otherwise)
{
    assert(x->command->yes); /* else --yes is not an option of this command */
    if (x->cli->opt.is_sure)
        return EXIT_DONE;
    if (!x->cli->is_tty_in)
        return cmd_usage(x, "stdin is not a terminal; pass --yes to confirm");
    if (ask_yes(question))
        return EXIT_DONE;
    fprintf(stderr, "%s\n", otherwise);
    return EXIT_FAILED;
}

/* ---- output ---- */

void cmd_print_json(const struct json *v)
{
    struct buf b;
    buf_init(&b, 2 * CLIENT_BODY_MAX);
    json_write(&b, v);
    printf("%.*s\n", STR_ARG(buf_str(&b)));
    buf_done(&b);
}

void cmd_print_styled(const struct cmd *x, unsigned style, str safe)
{
    struct buf b;
    buf_init(&b, TEXT_MAX_BYTES);
    style_add(&b, x->cli->has_color_out, style, safe);
    printf("%s\n", buf_cstr(&b));
    buf_done(&b);
}

void cmd_print_text(str foreign)
{
    struct buf b;
    buf_init(&b, TEXT_MAX_BYTES);
    text_add(&b, foreign);
    printf("%.*s", STR_ARG(buf_str(&b)));
    buf_done(&b);
}

bool cmd_json(const struct cmd *x, const struct json *v)
{
    if (x->cli->opt.is_json)
        cmd_print_json(v);
    return x->cli->opt.is_json;
}

void cmd_wait(const struct cmd *x, const bool *is_done)
{
    while (!*is_done)
        (void)loop_run_until(x->loop, is_done, UINT32_MAX);
}

int cmd_report(const struct cmd *x, FILE *out, const struct json *v, const char *fmt, ...)
{
    va_list ap;
    if (cmd_json(x, v))
        return EXIT_DONE;
    va_start(ap, fmt);
    vfprintf(out, fmt, ap);
    va_end(ap);
    fputc('\n', out);
    return EXIT_DONE;
}

static str cell_text(struct cmd *x, const struct json *v)
{
    return json_is(v, JSON_INT) ? arena_printf(&x->arena, "%lld", (long long)v->i)
                                : json_string(v, STR_NONE);
}

static str cell_ago(struct cmd *x, const struct json *v)
{
    int64_t ms;
    return clock_parse_iso(json_string(v, STR_NONE), &ms) < 0 ? STR_NONE : cmd_ago(x, ms);
}

static str cell_count(struct cmd *x, const struct json *v)
{
    return json_is(v, JSON_INT) ? cmd_count(x, v->i) : STR_NONE;
}

static str cell_size(struct cmd *x, const struct json *v)
{
    return arena_printf(&x->arena, "%u", json_is(v, JSON_ARRAY) ? v->len : 0);
}

static str cell_words(struct cmd *x, const struct json *v)
{
    str all = STR_NONE;
    for (size_t i = 0; json_is(v, JSON_ARRAY) && i < v->len; i++)
        all = arena_printf(&x->arena, "%.*s%s%.*s", STR_ARG(all), i > 0 ? "," : "",
                           STR_ARG(json_string(json_at(v, i), STR_NONE)));
    return all;
}

static str (*const CELLS[])(struct cmd *x, const struct json *v) = {
    [CELL_TEXT] = cell_text, [CELL_AGO] = cell_ago,     [CELL_COUNT] = cell_count,
    [CELL_SIZE] = cell_size, [CELL_WORDS] = cell_words,
};

static str cell_of(struct cmd *x, const struct cmd_column *c, const struct json *row)
{
    assert(!c->show != !c->key); /* exactly one of them */
    if (c->show)
        return c->show(x, row);
    str text = CELLS[c->cell](x, json_get(row, c->key));
    return text.n > 0 ? text : str_from(c->otherwise);
}

void cmd_table(struct cmd *x, const struct json *rows, const struct cmd_column *columns, size_t n,
               bool with_titles)
{
    struct table_column shapes[TABLE_COLUMNS_MAX];
    struct table t;
    assert(n <= TABLE_COLUMNS_MAX);
    for (size_t i = 0; i < n; i++)
        shapes[i] = (struct table_column){columns[i].title, columns[i].is_right, columns[i].style,
                                          columns[i].is_whole};
    table_init(&t, shapes, n);
    for (size_t i = 0; rows && i < rows->len; i++) {
        table_row(&t);
        for (size_t k = 0; k < n; k++)
            table_cell(&t, k, cell_of(x, &columns[k], json_at(rows, i)));
    }
    if (t.nrows > 0)
        table_print(&t, stdout, x->width, x->cli->has_color_out, with_titles);
    table_done(&t);
}

int cmd_list(struct cmd *x, const struct json *rows, const struct cmd_column *columns, size_t n,
             const char *empty)
{
    for (size_t i = 0; x->cli->opt.is_json && i < rows->len; i++)
        cmd_print_json(json_at(rows, i));
    if (x->cli->opt.is_json)
        return EXIT_DONE;
    cmd_table(x, rows, columns, n, true);
    if (rows->len == 0 && empty)
        fprintf(stderr, "%s\n", empty);
    return EXIT_DONE;
}

/* ---- requests and values ---- */

struct json *cmd_ask(struct cmd *x, const char *method, str path, const struct json *body,
                     const char *subject)
{
    struct client_ask q = {.method = method, .path = path};
    struct json *answer;
    struct err e = {0};
    assert(x->client);
    if (body)
        q.body = json_to_str(&x->arena, body);
    if (client_ask(x->client, &q, &x->arena, &answer, &e) == 0)
        return answer;
    if (subject)
        err_prefix(&e, "%s", subject);
    (void)cli_fail(&e);
    return NULL;
}

struct json *cmd_object_of(struct cmd *x, const struct json_member *members, size_t n)
{
    struct json *v = json_new(&x->arena, JSON_OBJECT);
    for (size_t i = 0; i < n; i++)
        json_set(&x->arena, v, members[i].key, members[i].value);
    return v;
}

struct json cmd_strings(struct cmd *x, const str *items, size_t n)
{
    struct json *list = json_new(&x->arena, JSON_ARRAY);
    for (size_t i = 0; i < n; i++)
        json_push(&x->arena, list, json_of_str(items[i]));
    return *list;
}

struct json cmd_str_or_null(str s)
{
    return s.n > 0 ? json_of_str(s) : json_of_null();
}

str cmd_joined(struct cmd *x, struct json_strs list, const char *between)
{
    str all = STR_NONE;
    for (size_t i = 0; i < list.len; i++)
        all = arena_printf(&x->arena, "%.*s%s%.*s", STR_ARG(all), i > 0 ? between : "",
                           STR_ARG(list.items[i]));
    return all;
}

str cmd_words(struct cmd *x, int from)
{
    str s = STR_NONE;
    assert(from <= x->argc);
    for (int i = from; i < x->argc; i++)
        s = arena_printf(&x->arena, "%.*s%s%s", STR_ARG(s), i > from ? " " : "", x->argv[i]);
    return s;
}

str cmd_line(struct cmd *x, str foreign)
{
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    text_add_line(&b, foreign);
    return buf_keep(&b, &x->arena);
}

str cmd_ago(struct cmd *x, int64_t ms)
{
    struct buf b;
    buf_init(&b, 64);
    ago_add(&b, ms, clock_now_ms());
    return buf_keep(&b, &x->arena);
}

str cmd_count(struct cmd *x, int64_t n)
{
    if (n < 10000)
        return arena_printf(&x->arena, "%lld", (long long)n);
    return n < 1000000 ? arena_printf(&x->arena, "%.1f k", (double)n / 1e3)
                       : arena_printf(&x->arena, "%.1f M", (double)n / 1e6);
}
