/* bundle_status.c - nb__bundle_status: the installed bundles and their health. */
#include "base/utf8.h"
#include "builtin/internal.h"
#include "bundle/bundle.h"
#include "skill/skill.h"

#define ANSWER_MAX      (256u * 1024)
#define DESCRIPTION_MAX 300

static void say_uptime(struct buf *b, int64_t ms)
{
    int64_t s = ms / 1000;
    if (s >= 3600)
        buf_printf(b, "up %lld h %lld min", (long long)(s / 3600), (long long)(s / 60 % 60));
    else
        buf_printf(b, "up %lld min %lld s", (long long)(s / 60), (long long)(s % 60));
}

static void say_bundle(struct buf *b, const struct bundle_info *i)
{
    buf_printf(b, "- %.*s", STR_ARG(i->name));
    if (i->version.n > 0)
        buf_printf(b, " %.*s", STR_ARG(i->version));
    buf_printf(b, ": %s (%s), %zu tool%s", i->state == BUNDLE_RUNNING ? "healthy" : "down",
               bundle_state_name(i->state), i->ntools, i->ntools == 1 ? "" : "s");
    if (i->nheld > 0)
        buf_printf(b, ", %zu waiting for an admin's approval", i->nheld);
    if (i->uptime_ms >= 0) {
        buf_add_lit(b, ", ");
        say_uptime(b, i->uptime_ms);
    }
    if (i->trust_score >= 0)
        buf_printf(b, ", trust %lld of 100", (long long)i->trust_score);
    if (i->restarts > 0)
        buf_printf(b, ", %u restart%s", i->restarts, i->restarts == 1 ? "" : "s");
    if (i->author.n > 0)
        buf_printf(b, ", by %.*s", STR_ARG(i->author));
    buf_add_char(b, '\n');
    if (i->description.n > 0)
        buf_printf(b, "  %.*s\n", STR_ARG(utf8_truncate(i->description, DESCRIPTION_MAX)));
    if (i->fault.n > 0)
        buf_printf(b, "  %.*s\n", STR_ARG(i->fault));
}

size_t builtin_say_bundles(struct builtin_call *c, struct buf *b, str part)
{
    struct bundles *all = c->builtin->bundles;
    str wanted = skill_fold(&c->call.arena, part);
    size_t n = 0;
    for (size_t i = 0; all && i < bundles_count(all); i++) {
        const struct bundle_info *info = bundle_info(bundles_at(all, i));
        if (str_find(skill_fold(&c->call.arena, info->name), wanted, 0) < 0)
            continue;
        say_bundle(b, info);
        n++;
    }
    return n;
}

static void bundle_status(struct builtin_call *c)
{
    str name = json_get_string(c->call.args, "name");
    struct buf b;
    buf_init(&b, ANSWER_MAX);
    if (builtin_say_bundles(c, &b, name) == 0)
        buf_add_lit(&b, name.n > 0 ? "No bundle has this text in its name."
                                   : "No bundles are installed.");
    builtin_reply(c, buf_str(&b));
    buf_done(&b);
}

const struct builtin_tool BUILTIN_BUNDLE_STATUS = {
    .name = "bundle_status",
    .title = "Bundle status",
    .description =
        "List the installed bundles (MCP servers): version, number of tools, health, and "
        "the reason when one is down.",
    .schema = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"description\":"
              "\"Part of a bundle's name; empty lists all\"}},\"additionalProperties\":false}",
    .is_read_only = true,
    .call = bundle_status,
};
