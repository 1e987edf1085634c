/* nb prompt - shows exactly what a message would send to the model, without sending it. */
#include "cli/conversations/conversations.h"
#include "cli/session/session.h"
#include "cli/term/styled.h"

#define PRINTED_MAX (64u * 1024 * 1024)

static const struct arg ARGS[] = {
    {"for", 0, ARG_STRING, "TEXT", "show the prompt for this message"},
    {"conversation", 'r', ARG_STRING, "ID", "show it as the next message of this conversation"},
    {"raw", 0, ARG_FLAG, NULL, "print only the body of the request"},
    {0}};

static void print_line(str foreign)
{
    cmd_print_text(foreign);
    putchar('\n');
}

static long long prompt_number(const struct json *v, const char *key)
{
    return (long long)json_get_int(v, key, 0);
}

static void print_layers(struct cmd *x, const struct json *layers)
{
    for (size_t i = 0; layers && i < layers->len; i++) {
        const struct json *l = json_at(layers, i);
        bool is_volatile = json_get_bool(l, "isVolatile", false);
        cmd_print_styled(
            x, STYLE_BOLD | STYLE_CYAN,
            arena_printf(&x->arena, "layer %lld: %.*s, by %.*s (about %lld tokens%s)",
                         prompt_number(l, "layer"), STR_ARG(json_get_string(l, "name")),
                         STR_ARG(json_get_string(l, "author")), prompt_number(l, "tokens"),
                         is_volatile ? ", after the cached part" : ""));
        print_line(json_get_string(l, "text"));
        putchar('\n');
    }
}

static str skill_words(struct cmd *x, const struct json *match)
{
    str name = json_get_string(match, "skill");
    const struct json *hit = json_at(json_get(match, "candidates"), 0);
    const struct json *keywords = json_get(hit, "keywords");
    if (name.n == 0)
        return STR("none matches");
    if (str_eq(json_get_string(match, "phase"), STR("trigger")))
        return arena_printf(&x->arena, "%.*s, by its trigger \"%.*s\"", STR_ARG(name),
                            STR_ARG(json_get_string(hit, "trigger")));
    return arena_printf(&x->arena, "%.*s, by %u of its keywords", STR_ARG(name),
                        keywords ? keywords->len : 0);
}

static void print_prompt_tools(struct cmd *x, const struct json *p)
{
    const struct json *tools = json_get(p, "tools");
    long long hidden = prompt_number(p, "hiddenTools");
    struct buf b;
    buf_init(&b, PRINTED_MAX);
    for (size_t i = 0; tools && i < tools->len; i++)
        buf_printf(&b, "%s%.*s", i ? ", " : "",
                   STR_ARG(json_get_string(json_at(tools, i), "name")));
    cmd_print_styled(x, STYLE_BOLD | STYLE_CYAN,
                     arena_printf(&x->arena, "tools: %u shown, %lld hidden (about %lld tokens)",
                                  tools ? tools->len : 0, hidden,
                                  prompt_number(json_get(p, "tokens"), "tools")));
    print_line(buf_str(&b));
    if (hidden > 0)
        puts("(nb__discover_tools finds the hidden ones)");
    putchar('\n');
    buf_done(&b);
}

static void print_rest(struct cmd *x, const struct json *p)
{
    const struct json *tokens = json_get(p, "tokens");
    printf("Model     ");
    print_line(json_get_string(p, "model"));
    printf("Skill     ");
    print_line(skill_words(x, json_get(p, "match")));
    printf("Messages  %lld (about %lld tokens)\n", prompt_number(p, "messages"),
           prompt_number(tokens, "messages"));
    printf("Total     about %lld tokens, %zu bytes\n", prompt_number(tokens, "total"),
           json_get_string(p, "request").n);
    if (json_get_bool(p, "isCompactionDue", false))
        puts("          the older messages would be summarised first");
}

static struct json *prompt_body(struct cmd *x, str conversation)
{
    str model = x->config.models.named;
    struct json *v = cmd_object(x, {STR("message"), json_of_str(str_from(cmd_opt(x, "for")))});
    if (conversation.n > 0)
        json_set(&x->arena, v, STR("conversationId"), json_of_str(conversation));
    if (model.n > 0)
        json_set(&x->arena, v, STR("model"), json_of_str(model));
    session_add_directory(&x->arena, &x->config, v);
    return v;
}

/* Without a server, the bundles are started as for a message, because their tools are part of the
 * prompt. */
static int run_prompt(struct cmd *x)
{
    struct err e = {0};
    if (!cmd_opt(x, "for"))
        return cmd_usage(x, "pass the message with --for TEXT");
    if (!x->client && client_open_bundles(x->loop, &x->config, &x->client, &e) < 0)
        return cli_fail(&e);
    str id = cmd_opt(x, "conversation") ? conv_id(x, cmd_opt(x, "conversation")) : STR_NONE;
    if (cmd_opt(x, "conversation") && id.n == 0)
        return EXIT_FAILED;
    const struct json *p = cmd_ask(x, "POST", STR("/v1/prompt"), prompt_body(x, id), NULL);
    if (!p)
        return EXIT_FAILED;
    if (cmd_flag(x, "raw")) {
        printf("%.*s\n", STR_ARG(json_get_string(p, "request")));
    } else if (x->cli->opt.is_json) {
        cmd_print_json(p);
    } else {
        print_layers(x, json_get(p, "layers"));
        print_prompt_tools(x, p);
        print_rest(x, p);
    }
    return EXIT_DONE;
}

const struct command CMD_PROMPT = {
    .name = "prompt",
    .summary = "show what a message would send to the model",
    .help = "Shows the layers of the prompt with their authors and estimated tokens, the tools and "
            "the skill. Sends and stores nothing. Without a running server, starts the bundles for "
            "this command.\n",
    .args = ARGS,
    .needs = NEEDS_LOOP | WORKS_ELSEWHERE,
    .run = run_prompt,
};
