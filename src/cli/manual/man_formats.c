/* man_formats.c - pages of section 5, from the tables of settings and events. */
#include "bus/vocabulary.h"
#include "cli/manual/manual.h"
#include "cli/manual/roff.h"
#include "config/setting.h"

/* "Default: 10. Values: 1 to 25 ms. Variable: PORT." */
static str setting_facts(struct arena *a, const struct setting *s)
{
    struct buf b;
    buf_init(&b, ROFF_PAGE_MAX);
    const char *unit = s->unit ? s->unit : "", *gap = s->unit ? " " : "";
    if (s->initial || s->type == JF_BOOL)
        buf_printf(&b, " Default: %s.", s->initial ? s->initial : "false");
    if (s->choices)
        buf_printf(&b, " One of: %s.", s->choices);
    if (s->type == JF_INT && s->max == INT64_MAX)
        buf_printf(&b, " At least %lld%s%s.", (long long)s->min, gap, unit);
    else if (s->type == JF_INT)
        buf_printf(&b, " %lld to %lld%s%s.", (long long)s->min, (long long)s->max, gap, unit);
    if (s->variables)
        buf_printf(&b, " Variable: `%s`.", s->variables);
    if (s->flags & SETTING_LIVE)
        buf_add_lit(&b, " A running server uses a change immediately.");
    return buf_keep(&b, a);
}

static str type_name(const struct setting *s)
{
    switch (s->type) {
    case JF_INT:
        return STR("whole number");
    case JF_BOOL:
        return STR("true or false");
    case JF_STRS:
        return STR("list of strings");
    case JF_JSON:
        return STR("value");
    case JF_JSON_OBJECT:
        return STR("object");
    default:
        return STR("string");
    }
}

static void add_setting(struct buf *b, struct arena *a, const struct setting *s)
{
    str tag = arena_printf(a, "`%s` (%.*s)", s->key, STR_ARG(type_name(s)));
    bool has_dot = str_ends(str_from(s->help), STR("."));
    str text =
        arena_printf(a, "%s%s%.*s", s->help, has_dot ? "" : ".", STR_ARG(setting_facts(a, s)));
    roff_item(b, tag, text);
}

void man_add_settings(struct buf *b)
{
    struct arena a;
    arena_init(&a);
    roff_head(b, "nimblebrain.json", "5", STR("settings of nb"));
    roff_section(b, "DESCRIPTION");
    roff_text(b, STR("The file is in the work directory of nb, or it is named with `--config`. It "
                     "is JSON, and may have comments and trailing commas. Flags override the "
                     "environment, the environment overrides the file; only keys of providers in "
                     "the file override those of the environment. Unknown keys cause a warning. A "
                     "wrong type or value is an error.\n"
                     "\n"
                     "A key `a.b` below is the member b of the object a. `nb schema` prints a JSON "
                     "Schema of the file, for editors:\n"
                     "\n"
                     " nb schema > ~/.nimblebrain/schema.json\n"
                     " { \"$schema\": \"./schema.json\", \"http\": { \"port\": 8080 } }\n"));
    roff_section(b, "SETTINGS");
    for (size_t i = 0; i < SETTINGS_LEN; i++)
        if (SETTINGS[i].key && !(SETTINGS[i].flags & SETTING_HIDDEN))
            add_setting(b, &a, &SETTINGS[i]);
    roff_section(b, "SEE ALSO");
    roff_text(b, STR("nb(1), nb-config(1), nb-doctor(1)"));
    arena_done(&a);
}

static void add_stored_event(struct buf *b, struct arena *a, const struct event_kind *k)
{
    struct buf text;
    str rest = str_from(k->members), one;
    buf_init(&text, ROFF_PAGE_MAX);
    while (str_split(&rest, ' ', &one))
        if (one.n > 0)
            buf_printf(&text, "%s%.*s", text.n ? ", " : "", STR_ARG(one));
    buf_add_lit(&text, ".");
    if (k->shown.n > 0 && !str_eq(k->shown, k->name))
        buf_printf(&text, " Clients receive it as `%.*s`.", STR_ARG(k->shown));
    if (k->shown.n == 0)
        buf_add_lit(&text, " Clients do not receive it.");
    roff_item(b, arena_printf(a, "`%.*s`", STR_ARG(k->name)), buf_keep(&text, a));
}

void man_add_log(struct buf *b)
{
    struct arena a;
    arena_init(&a);
    roff_head(b, "nb-log", "5", STR("logs of conversations"));
    roff_section(b, "DESCRIPTION");
    roff_text(b, STR("Each conversation is a file of JSON lines that nb only appends to. The first "
                     "line is its metadata, which never changes. Every further line is an event, "
                     "with `ts` (the time), `type` (its name) and the members below; a question "
                     "mark follows those that may be absent. Readers ignore events and members "
                     "that they do not know. Logs of all earlier versions can be read."));
    roff_section(b, "EVENTS");
    for (int t = EV_UNKNOWN + 1; t < EV_STORED_END; t++)
        add_stored_event(b, &a, &EVENT_KINDS[t]);
    roff_section(b, "SEE ALSO");
    roff_text(b, STR("nb(1), nb-conversations(1), nb-replay(1)"));
    arena_done(&a);
}
