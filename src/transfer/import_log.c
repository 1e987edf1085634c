#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"
#include "store/event/blobs.h"
#include "store/folder/folder_record.h"
#include "store/integrity.h"
#include "transfer/import_impl.h"

enum { BLOBS_MAX = 100000 };

void log_reader_init(struct log_reader *r, const char *path, bool is_folder)
{
    *r = (struct log_reader){.is_folder = is_folder};
    arena_init(&r->arena);
    arena_init(&r->scratch);
    map_init(&r->notes);
    r->path = arena_cstr(&r->arena, str_from(path));
}

void log_reader_done(struct log_reader *r)
{
    arena_done(&r->arena);
    arena_done(&r->scratch);
    map_done(&r->notes);
    map_done(&r->shared);
}

/* The path of something beside the log. */
static const char *beside(struct log_reader *r, const char *name)
{
    str path = str_from(r->path);
    ptrdiff_t slash = str_rfind_char(path, '/');
    return arena_printf(&r->arena, "%.*s%s", (int)(slash + 1), path.p, name).p;
}

static const char *blob_dir(struct log_reader *r)
{
    str path = str_from(r->path);
    if (r->is_folder)
        return beside(r, "blobs");
    if (str_ends(path, STR(".jsonl")))
        path.n -= 6;
    return arena_printf(&r->arena, "%.*s.blobs", STR_ARG(path)).p;
}

static void add_blob(struct log_reader *r, const char *dir, const char *name, bool is_shared)
{
    ARENA_GROW(&r->arena, r->blobs, r->nblobs, r->blobs_cap);
    const char *path = arena_printf(&r->arena, "%s/%s", dir, name).p;
    r->blobs[r->nblobs++] = (struct import_blob){.path = path, .is_shared = is_shared};
}

static void find_blobs(struct log_reader *r)
{
    const char *dir = blob_dir(r);
    struct dir d = dir_open(dir);
    while (r->nblobs < BLOBS_MAX && dir_next(&d))
        if (strlen(d.name) == SHA256_HEX_LEN)
            add_blob(r, dir, d.name, false);
    dir_close(&d);
}

/* Prompts and tool lists are once in the directory of the log, for all of its logs. */
static void find_shared_blob(struct log_reader *r, str sha256)
{
    const char *dir = beside(r, "blobs"), *name = arena_cstr(&r->arena, sha256);
    if (!sha256_is_hex(sha256) || r->nblobs == BLOBS_MAX || map_get(&r->shared, sha256))
        return;
    map_put(&r->shared, sha256, r);
    if (access(arena_printf(&r->arena, "%s/%s", dir, name).p, R_OK) == 0)
        add_blob(r, dir, name, true);
}

/* ---- line 1 ---- */

/* Removes the last name of a path. */
static str last_name(str *path)
{
    ptrdiff_t slash = str_rfind_char(*path, '/');
    str name = str_skip(*path, (size_t)(slash + 1));
    path->n = slash < 0 ? 0 : (size_t)slash;
    return name;
}

static str id_of(struct log_reader *r, struct talk *t, const struct json *v)
{
    str id = json_get_string(v, "id");
    str dir = str_from(r->path), name = last_name(&dir);
    if (r->is_folder)
        return folder_id(&r->arena, id.n ? id : folder_thread(last_name(&dir)));
    if (str_ends(name, STR(".jsonl")))
        name.n -= 6;
    if (store_id_valid(name)) /* the id of the path takes precedence over line 1 */
        return arena_str(&r->arena, name);
    return store_id_valid(id) ? arena_str(&r->arena, id) : talk_conv_id(t, &r->arena, "nb", name);
}

static void tell_sharing(struct talk *t, struct arena *a, const struct json *v)
{
    const struct json *people = json_get(v, "participants"), *readers = json_get(v, "readers");
    bool has_readers = json_is(readers, JSON_ARRAY);
    if (!str_eq(json_get_string(v, "visibility"), STR("shared")))
        return;
    talk_event(t, arena_printf(a,
                               "{\"ts\":\"%s\",\"type\":\"metadata.visibility\",\"visibility\":"
                               "\"shared\"}",
                               t->ts));
    if (json_is(people, JSON_ARRAY))
        talk_event(t, arena_printf(a,
                                   "{\"ts\":\"%s\",\"type\":\"metadata.participants\","
                                   "\"participants\":%.*s%s%.*s}",
                                   t->ts, STR_ARG(json_to_str(a, people)),
                                   has_readers ? ",\"readers\":" : "",
                                   STR_ARG(has_readers ? json_to_str(a, readers) : STR_NONE)));
}

static const struct json *object(struct log_reader *r, const struct json *v)
{
    return json_is(v, JSON_OBJECT) ? json_clone(&r->arena, v) : NULL;
}

static bool is_header(const struct json *v)
{
    return json_is(v, JSON_OBJECT) && !json_get(v, "type") && !json_get(v, "role") &&
           (json_get(v, "id") || json_get(v, "createdAt"));
}

static void tell_header(struct log_reader *r, struct talk *t, const struct json *v,
                        struct conv_create *conv)
{
    struct arena *a = &r->arena;
    *conv = (struct conv_create){
        .id = id_of(r, t, v),
        .owner_id = arena_str(a, json_get_string(v, "ownerId")),
        .channel = arena_str(a, json_get_string(v, "channel")),
        .model = arena_str(a, json_get_string(v, "model")),
        .forked_from = arena_str(a, json_get_string(v, "forkedFrom")),
        .parent = object(r, json_get(v, "parent")),
        .metadata = object(r, json_get(v, "metadata")),
        .is_hidden = json_get_bool(v, "hidden", false),
    };
    (void)event_time(v, &conv->created_ms);
    r->last_ms = conv->created_ms;
    talk_at_ms(t, conv->created_ms);
    talk_title(t, json_get_string(v, "title"));
    tell_sharing(t, a, v);
    find_blobs(r);
}

/* ---- the rest ---- */

static void remember_note(struct log_reader *r, str event)
{
    struct event_head head;
    char key[SHA256_HEX_LEN + 1];
    if (!r->is_folder || !event_scan(event, &head) || head.type != EV_NOTE)
        return;
    folder_note_key(&r->scratch, event, key);
    map_put(&r->notes, str_from(key), r);
}

static void tell_event(struct log_reader *r, struct talk *t, str line)
{
    struct event_head head;
    struct json *v;
    str hash;
    (void)chain_split(line, &line, &hash, &r->scratch);
    if (!event_scan(line, &head) || json_parse(&r->scratch, line, 0, &v, NULL) < 0) {
        talk_skip(t, "a line that is not an event");
        return;
    }
    remember_note(r, line);
    if (head.type == EV_LLM_REQUEST && !r->is_folder) {
        find_shared_blob(r, json_get_string(v, "system"));
        find_shared_blob(r, json_get_string(v, "tools"));
    }
    line = event_dated(&r->scratch, line, v, &r->last_ms);
    const struct blob_dir blobs = blobs_in_dir(NULL, blob_dir(r));
    str whole = blobs_restore(&r->scratch, &blobs.place, line);
    if (head.type == EV_TOOL_DONE && str_find(whole, STR("{\"$blob\":\""), 0) >= 0)
        talk_skip(t, "a result whose blob is missing");
    talk_event(t, whole);
}

/* Processes line 1, or the first line of a log that has lost it: then the first event creates the
 * conversation, with the id of the path. */
static bool log_reader_begin(struct log_reader *r, struct talk *t, str line,
                             struct conv_create *conv, bool *ret_is_event)
{
    struct event_head head;
    struct json *v;
    bool is_json = json_parse(&r->scratch, line, 0, &v, NULL) == 0;
    *ret_is_event = !(is_json && is_header(v));
    if (*ret_is_event && !(is_json && event_scan(line, &head)))
        return false;
    r->has_header = true;
    tell_header(r, t, *ret_is_event ? json_new(&r->scratch, JSON_OBJECT) : v, conv);
    return true;
}

bool log_reader_line(struct log_reader *r, struct talk *t, str line, struct conv_create *conv)
{
    bool is_event = true, begins = false;
    arena_reset(&r->scratch);
    line = str_trim(line);
    if (r->is_folder)
        line = folder_event(&r->scratch, line);
    if (!r->has_header)
        begins = log_reader_begin(r, t, line, conv, &is_event);
    if (line.n && is_event)
        tell_event(r, t, line);
    return begins;
}

void log_reader_end(struct log_reader *r, struct talk *t)
{
    struct stat st;
    struct lines lines;
    struct line line;
    char key[SHA256_HEX_LEN + 1];
    int fd = r->is_folder ? open(beside(r, "notes.jsonl"), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return;
    lines_init(&lines, fd, 0, fstat(fd, &st) == 0 ? st.st_size : 0);
    while (lines_next(&lines, &line) > 0) {
        arena_reset(&r->scratch);
        str event = folder_note_event(&r->scratch, line.text);
        if (!event.n)
            continue;
        folder_note_key(&r->scratch, event, key);
        if (!map_get(&r->notes, str_from(key)))
            tell_event(r, t, event);
    }
    lines_done(&lines);
    close(fd);
}
