#include "cli/view/media.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "cli/screen/picture.h"
#include "cli/screen/term.h"
#include "cli/session/browser.h"
#include "cli/term/styled.h"
#include "cli/view/view.h"
#include "media/media.h"
#include "os/file.h"
#include "store/event/parts.h"

enum { OPENED_MAX = 64 * 1024 * 1024 };

void media_note(struct media_list *m, struct arena *a, const struct json *call)
{
    const struct json *parts = json_get(call, "parts");
    for (size_t i = 0; json_is(parts, JSON_ARRAY) && i < parts->len && m->n < MEDIA_MAX; i++) {
        const struct json *part = &parts->items[i];
        str mime = json_get_string(part, "mimeType"), address = json_get_string(part, "address");
        str label = parts_label(a, part);
        if (address.n == 0 || label.n == 0 || json_get(part, "text"))
            continue;
        m->items[m->n++] = (struct media_item){
            .address = arena_str(a, address),
            .label = label,
            .bytes = json_get_int(part, "bytes", 0),
            .is_picture = parts_shown_type(mime) && str_starts(mime, STR("image/")),
        };
    }
}

static bool add_picture(struct buf *out, struct arena *a, enum picture_protocol protocol, str bytes,
                        size_t columns)
{
    struct err e = {0};
    str sixels;
    if (protocol != PICTURE_SIXEL)
        return picture_add(out, protocol, bytes, columns);
    return picture_is_drawable(bytes) &&
           media_sixels(a, file_own_program(a), bytes, picture_side(columns), PICTURE_OUT_MAX,
                        &sixels, &e) == 0 &&
           picture_add_sixels(out, sixels);
}

static bool show_picture(struct view *v, struct chat_session *s, const struct media_item *item,
                         enum picture_protocol protocol)
{
    struct arena a;
    struct buf out;
    struct err e = {0};
    str bytes;
    if (!item->is_picture || item->bytes > PICTURE_BYTES_MAX)
        return false;
    arena_init(&a);
    buf_init(&out, PICTURE_OUT_MAX);
    bool is_shown = session_fetch(s, item->address, PICTURE_BYTES_MAX, &a, &bytes, &e) == 0 &&
                    add_picture(&out, &a, protocol, bytes, screen_width(v->screen));
    if (is_shown)
        screen_picture(v->screen, buf_str(&out));
    buf_done(&out);
    arena_done(&a);
    return is_shown;
}

static bool has_picture(const struct media_list *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->items[i].is_picture)
            return true;
    return false;
}

/* Terminals that are known by name are not asked; others only when there is something to show. */
static enum picture_protocol choose_protocol(const struct view *v)
{
    enum picture_protocol known = picture_protocol(getenv);
    if (known != PICTURE_NONE || !has_picture(&v->media) || !picture_may_ask(getenv))
        return known;
    bool has_sixel =
        v->term ? term_has_sixel(v->term) : term_ask_sixel(STDIN_FILENO, STDOUT_FILENO);
    return has_sixel ? PICTURE_SIXEL : PICTURE_NONE;
}

void media_ask(struct view *v, struct term *t)
{
    v->term = t;
    if (picture_protocol(getenv) == PICTURE_NONE && picture_may_ask(getenv))
        term_ask(t);
}

/* A view is always on a terminal. */
void media_show(struct view *v, struct chat_session *s)
{
    enum picture_protocol protocol = choose_protocol(v);
    size_t shown = 0;
    for (size_t i = 0; protocol != PICTURE_NONE && i < v->media.n; i++)
        shown += show_picture(v, s, &v->media.items[i], protocol);
    if (shown < v->media.n && v->has_footer) { /* the chat, which has commands */
        view_say(v, STYLE_DIM, "/open shows what was returned: %.*s%s",
                 STR_ARG(v->media.items[0].label), v->media.n > 1 ? " and more" : "");
        view_redraw(v);
    }
}

/* ---- /open ---- */

/* The type of the bytes decides how a desktop opens them, and only harmless ones are opened. */
static const char *suffix_of(str bytes)
{
    static const struct {
        const char *type, *suffix;
    } SUFFIXES[] = {
        {"image/png", "png"},       {"image/jpeg", "jpg"}, {"image/gif", "gif"},
        {"image/webp", "webp"},     {"audio/wav", "wav"},  {"audio/ogg", "ogg"},
        {"audio/flac", "flac"},     {"audio/mpeg", "mp3"}, {"audio/mp4", "m4a"},
        {"application/pdf", "pdf"}, {"text/plain", "txt"},
    };
    const char *type = sniff_type(bytes);
    for (size_t i = 0; i < ARRAY_LEN(SUFFIXES); i++)
        if (strcmp(SUFFIXES[i].type, type) == 0)
            return SUFFIXES[i].suffix;
    return NULL;
}

static void open_item(struct view *v, struct chat_session *s, const char *dir, size_t i)
{
    struct arena a;
    struct err e = {0};
    str bytes;
    arena_init(&a);
    if (session_fetch(s, v->media.items[i].address, OPENED_MAX, &a, &bytes, &e) < 0) {
        view_say(v, STYLE_RED, "%s", e.msg);
        arena_done(&a);
        return;
    }
    const char *suffix = suffix_of(bytes);
    const char *path = arena_printf(&a, "%s/%zu.%s", dir, i + 1, suffix ? suffix : "bin").p;
    if (file_write_atomic(path, bytes, 0600, &e) < 0)
        view_say(v, STYLE_RED, "%s", e.msg);
    else
        view_say(v, 0, "%s%s", path, suffix && browser_show_file(path) ? "" : " (saved)");
    arena_done(&a);
}

void media_open(struct view *v, struct chat_session *s)
{
    char dir[] = "/tmp/nb-open-XXXXXX";
    if (v->media.n == 0) {
        view_say(v, STYLE_DIM, "the last answer returned no picture, sound or document");
        return;
    }
    if (!mkdtemp(dir)) {
        view_say(v, STYLE_RED, "cannot create a directory in /tmp: %s", err_reason(-errno));
        return;
    }
    for (size_t i = 0; i < v->media.n; i++)
        open_item(v, s, dir, i);
}
