/* What is shown folded: results of tools, changes of files, thoughts of models. */
#include "base/clock.h"
#include "cli/view/diff_lines.h"
#include "cli/term/result_words.h"
#include "cli/term/styled.h"
#include "cli/view/tool_edits.h"
#include "cli/view/view_impl.h"

#define CHANGE_LINES 12 /* of a change that are shown unfolded */
#define DIFF_MAX     (4u * 1024 * 1024)
#define DRAWN_MAX    (8u * 1024 * 1024)

/* ---- changes of files ---- */

void view_note_change(struct view *v, const struct json *call)
{
    struct tool_edit edits[TOOL_EDITS_MAX];
    struct buf diff;
    const struct json *input = json_get(call, "input");
    size_t n = tool_edits(json_get_string(call, "name"), input, edits);
    if (n == 0 || v->nchanges == VIEW_CHANGES_MAX)
        return;
    buf_init(&diff, DIFF_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct json *before = edits[i].before;
        buf_add_lit(&diff, i > 0 ? "@\n" : "");
        diff_lines(&diff, json_string(before, STR_NONE), before != NULL, edits[i].after);
    }
    v->changes[v->nchanges++] =
        (struct view_change){arena_str(&v->arena, json_get_string(call, "id")),
                             arena_str(&v->arena, tool_path(input, 0)), buf_keep(&diff, &v->arena)};
}

static const struct view_change *change_of(const struct view *v, str id)
{
    for (size_t i = 0; i < v->nchanges; i++)
        if (str_eq(v->changes[i].id, id))
            return &v->changes[i];
    return NULL;
}

/* The lines below the call; number: of its fold, or 0. */
static str draw_change(struct view *v, const struct view_change *c, size_t number)
{
    struct buf out;
    buf_init(&out, DRAWN_MAX);
    size_t left =
        diff_draw(&out, c->diff, screen_width(v->screen), CHANGE_LINES, false, v->has_color);
    if (left > 0) {
        str more = number > 0 ? arena_printf(&v->arena, "… %zu more lines [%zu]", left, number)
                              : arena_printf(&v->arena, "… %zu more lines", left);
        buf_add_lit(&out, "  ");
        style_add(&out, v->has_color, STYLE_DIM, more);
        buf_add_char(&out, '\n');
    }
    str drawn = buf_keep(&out, &v->arena);
    return str_slice(drawn, 0, drawn.n > 0 ? drawn.n - 1 : 0);
}

static str change_title(struct view *v, const struct view_change *c)
{
    size_t added, removed;
    diff_count(c->diff, &added, &removed);
    return arena_printf(&v->arena, "%.*s +%zu -%zu", STR_ARG(c->path), added, removed);
}

/* ---- the end of a call ---- */

/* What is shown of an edit is its change; the words of the tool about it are folded. */
void view_end_call(struct view *v, const struct json *d)
{
    struct arena a;
    str id = json_get_string(d, "id"), name = json_get_string(d, "name");
    const struct view_change *c = change_of(v, id);
    size_t width = screen_width(v->screen);
    arena_init(&a);
    struct tool_end end = {
        .ok = result_is_ok(d), .ms = json_get_int(d, "ms", 0), .output = result_words(&a, d)};
    if (c && end.ok) {
        size_t number = v->can_unfold ? folds_add(&v->folds, change_title(v, c), c->diff, true) : 0;
        end.output = change_title(v, c);
        end.below = draw_change(v, c, number);
    } else if (v->can_unfold && tool_lines_is_cut(&v->tools, id, name, &end, width)) {
        end.number = folds_add(&v->folds, name, end.output, false);
    }
    tool_lines_finish(&v->tools, id, name, &end, width);
    arena_done(&a);
}

/* ---- thoughts ---- */

void view_add_thoughts(struct view *v, str text)
{
    if (v->thoughts.n == 0)
        v->thinking_ms = clock_mono_ms();
    if (v->can_unfold && v->thoughts.n + text.n <= FOLD_BYTES_MAX)
        buf_add_str(&v->thoughts, text);
}

void view_end_thoughts(struct view *v)
{
    uint64_t seconds = (clock_mono_ms() - v->thinking_ms) / 1000;
    if (v->thoughts.n == 0)
        return;
    size_t number = folds_add(&v->folds, STR("thoughts"), buf_str(&v->thoughts), false);
    view_set_apart(v, VIEW_TOOLS);
    view_more(
        v, STYLE_DIM,
        arena_printf(&v->arena, "… thought for %llu s [%zu]", (unsigned long long)seconds, number));
    buf_clear(&v->thoughts);
}

/* ---- unfolding ---- */

void view_unfold(struct view *v, size_t number)
{
    struct buf out;
    const struct fold *f = folds_find(&v->folds, number);
    if (!f) {
        view_say(v, STYLE_DIM,
                 v->folds.n == 0 ? "nothing is folded yet"
                                 : "nothing is folded under %zu; the last ones are kept",
                 number);
        return;
    }
    view_say(v, STYLE_BOLD, "[%zu] %s", f->number, f->title);
    if (!f->is_diff) {
        view_foreign(v, str_make(f->text, f->n));
    } else {
        buf_init(&out, DRAWN_MAX);
        (void)diff_draw(&out, str_make(f->text, f->n), screen_width(v->screen), SIZE_MAX, true,
                        v->has_color);
        view_lines(v, buf_str(&out));
        buf_done(&out);
    }
    if (f->left_out > 0)
        view_say(v, STYLE_DIM, "%zu more bytes are not kept; nb conv export has them", f->left_out);
}
