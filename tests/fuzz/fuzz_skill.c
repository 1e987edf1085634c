/* fuzz_skill.c - any bytes as a skill, as a message, and as text for a prompt.
 *
 * A skill that is read has a name and phrases in pairs; one that is not says why. Escaped
 * text is UTF-8, escapes to itself, and has no tag of a container left in it. */
#include <assert.h>

#include "base/utf8.h"
#include "runtime/history/escape.h"
#include "runtime/prompt/prompt.h"
#include "skill/skill.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_error(const struct skill_problems *p)
{
    bool found = false;
    for (size_t i = 0; i < p->len; i++) {
        assert(p->items[i].message.n > 0);
        found |= p->items[i].severity == SKILL_ERROR;
    }
    return found;
}

static void check_skill(struct arena *a, const struct skill *s)
{
    struct prompt_input in = {.matched = s};

    assert(s->name.n > 0 && s->name.n <= SKILL_NAME_MAX);
    assert(s->description.n <= SKILL_DESCRIPTION_MAX);
    assert(s->triggers.len == s->folded_triggers.len);
    assert(s->keywords.len == s->folded_keywords.len);
    for (size_t i = 0; i < s->triggers.len; i++)
        assert(str_trim(s->triggers.items[i]).n > 0);
    struct prompt p = prompt_compose(a, &in);
    assert(utf8_valid(p.volatile_part));
}

static void check_parse(struct arena *a, str text, bool is_standard)
{
    struct skill_problems problems = {0};
    struct skill skill;

    if (skill_parse(a, STR("x.md"), text, is_standard, &skill, &problems) == 0) {
        assert(!has_error(&problems));
        check_skill(a, &skill);
    } else {
        assert(has_error(&problems));
    }
}

static void check_escape(struct arena *a, str text)
{
    str out = escape_block(a, text, 1 << 20), line = escape_line(a, text, 1 << 20);

    assert(utf8_valid(out) && utf8_valid(line));
    assert(str_find_char(line, '\n') < 0);
    assert(str_eq(escape_block(a, out, 1 << 20), out));
    for (int c = 0; c < CONTAINER_COUNT; c++) {
        str close = arena_printf(a, "</%s>", container_name((enum container)c));
        assert(str_find_nocase(out, close) < 0);
        assert(str_find_nocase(line, close) < 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = str_make((const char *)data, size);
    struct arena a;

    arena_init(&a);
    check_parse(&a, text, false);
    check_parse(&a, text, true);
    check_escape(&a, text);
    str folded = skill_fold(&a, text);
    assert(str_eq(skill_fold(&a, folded), folded));
    arena_done(&a);
    return 0;
}
