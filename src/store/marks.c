#include "store/marks.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "store/store.h"

static str now_iso(struct arena *a)
{
    char text[CLOCK_ISO_LEN + 1];
    clock_iso(clock_now_ms(), text);
    return arena_str(a, str_from(text));
}

/* ---- the document ---- */

static int compare_marks(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    return str_cmp(x->id, y->id);
}

/* The file may have been edited: entries that are not marks are left out. */
static void take_member(struct arena *a, struct marks *m, str id, const struct json *v)
{
    int64_t read = json_get_int(v, "read", -1);
    if (!store_id_valid(id) || v->type != JSON_OBJECT || m->n == MARKS_MAX)
        return;
    ARENA_GROW(a, m->items, m->n, m->cap);
    m->items[m->n++] = (struct mark){
        .id = arena_str(a, id),
        .is_pinned = json_get_bool(v, "pinned", false),
        .is_archived = json_get_bool(v, "archived", false),
        .read = read < 0 ? -1 : read,
    };
}

int marks_parse(struct arena *a, str text, struct marks *ret, struct err *e)
{
    struct marks m = {.since = now_iso(a)};
    struct json *doc;
    int64_t ms;
    *ret = m;
    if (text.n == 0)
        return 0;
    int r = json_parse(a, text, JSON_UNIQUE, &doc, e);
    if (r < 0)
        return r;
    const struct json *all = json_get(doc, "conversations");
    str since = json_get_string(doc, "since");
    if (clock_parse_iso(since, &ms) == 0)
        m.since = arena_str(a, since);
    for (size_t i = 0; json_is(all, JSON_OBJECT) && i < all->len; i++)
        take_member(a, &m, all->members[i].key, &all->members[i].value);
    if (m.n > 1)
        qsort(m.items, m.n, sizeof *m.items, compare_marks);
    *ret = m;
    return 0;
}

str marks_write(struct arena *a, const struct marks *m)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, MARKS_TEXT_MAX);
    jw_object(&w);
    jw_kstr(&w, "since", m->since);
    jw_kobject(&w, "conversations");
    for (size_t i = 0; i < m->n; i++) {
        const struct mark *one = &m->items[i];
        jw_key_str(&w, one->id);
        jw_object(&w);
        if (one->is_pinned)
            jw_kbool(&w, "pinned", true);
        if (one->is_archived)
            jw_kbool(&w, "archived", true);
        if (one->read >= 0)
            jw_kint(&w, "read", one->read);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    assert(!buf_failed(&b)); /* MARKS_MAX entries of known size */
    str text = arena_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}

/* ---- one conversation ---- */

/* The place of the id, or where it would be. */
static size_t find_place(const struct marks *m, str id)
{
    size_t from = 0, to = m->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (str_cmp(m->items[mid].id, id) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

const struct mark *marks_find(const struct marks *m, str id)
{
    size_t at = find_place(m, id);
    return at < m->n && str_eq(m->items[at].id, id) ? &m->items[at] : NULL;
}

/* The owner has read the answers where they asked for them, and nobody else has written. */
static bool was_read_in_terminal(const struct conv *c)
{
    return str_eq(c->channel, STR("tui")) && !c->acl.is_shared;
}

struct mark_state marks_state(const struct marks *m, const struct conv *c)
{
    const struct mark *one = marks_find(m, c->id);
    bool has_read = one && one->read >= 0;
    return (struct mark_state){
        .is_pinned = one && one->is_pinned,
        .is_archived = one && one->is_archived,
        .is_unread = has_read ? c->message_count > one->read
                              : str_cmp(c->updated_at, m->since) >= 0 && !was_read_in_terminal(c),
    };
}

/* ---- changing ---- */

static void forget_reading(struct arena *a, struct marks *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct mark one = m->items[i];
        one.read = -1;
        if (one.is_pinned || one.is_archived)
            m->items[kept++] = one;
    }
    m->n = kept;
    m->since = now_iso(a);
}

static struct mark *mark_for(struct arena *a, struct marks *m, str id, struct err *e)
{
    size_t at = find_place(m, id);
    if (at < m->n && str_eq(m->items[at].id, id))
        return &m->items[at];
    if (m->n == MARKS_MAX) {
        forget_reading(a, m);
        at = find_place(m, id);
    }
    if (m->n == MARKS_MAX) {
        err_set(e, -E2BIG,
                "You have pinned or archived %u conversations, which is the limit. Delete some of "
                "them.",
                MARKS_MAX);
        return NULL;
    }
    ARENA_GROW(a, m->items, m->n, m->cap);
    memmove(&m->items[at + 1], &m->items[at], (m->n - at) * sizeof *m->items);
    m->n++;
    m->items[at] = (struct mark){.id = arena_str(a, id), .read = -1};
    return &m->items[at];
}

static size_t count_pins(const struct marks *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->items[i].is_pinned;
    return n;
}

static void apply_reading(struct mark *one, const struct conv *c, const struct mark_change *change)
{
    int64_t count = c->message_count;
    int64_t read = change->read < count ? change->read : count;
    if (change->unread == MARK_SET)
        one->read = count > 0 ? count - 1 : 0;
    else if (change->unread == MARK_CLEAR)
        one->read = count;
    else if (read > one->read)
        one->read = read;
}

int marks_apply(struct arena *a, struct marks *m, const struct conv *c,
                const struct mark_change *change, struct err *e)
{
    const struct mark *known = marks_find(m, c->id);
    if (change->pinned == MARK_SET && !(known && known->is_pinned) &&
        count_pins(m) >= MARKS_PINS_MAX)
        return err_set(e, -E2BIG, "You have pinned %u conversations, which is the limit.",
                       MARKS_PINS_MAX);
    struct mark *one = mark_for(a, m, c->id, e);
    if (!one)
        return -E2BIG;
    if (change->pinned != MARK_KEEP)
        one->is_pinned = change->pinned == MARK_SET;
    if (change->archived != MARK_KEEP)
        one->is_archived = change->archived == MARK_SET;
    if (one->is_archived && change->archived == MARK_SET)
        one->is_pinned = false; /* an archived conversation is not pinned */
    else if (change->pinned == MARK_SET)
        one->is_archived = false;
    apply_reading(one, c, change);
    return 0;
}
