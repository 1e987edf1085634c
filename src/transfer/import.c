#include "transfer/import.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/utf8.h"
#include "os/dir.h"
#include "transfer/import_impl.h"

enum { SNIFF_LINES = 20 };

static const char *const KINDS[] = {
    [IMPORT_ANY] = "any",         [IMPORT_NB] = "nb",
    [IMPORT_FOLDER] = "folder",   [IMPORT_CLAUDE_CODE] = "claude-code",
    [IMPORT_CHATGPT] = "chatgpt", [IMPORT_CLAUDE_AI] = "claude",
};

int import_kind_parse(str name, enum import_kind *ret, struct err *e)
{
    ptrdiff_t i = STR_INDEX(name, KINDS);
    if (i < 0)
        return err_set(e, -EINVAL,
                       "kind \"%.*s\" is not one of nb, folder, claude-code, chatgpt, claude",
                       STR_ARG(utf8_truncate(name, 40)));
    *ret = (enum import_kind)i;
    return 0;
}

void import_report_init(struct import_report *r)
{
    *r = (struct import_report){0};
    arena_init(&r->arena);
}

void import_report_done(struct import_report *r)
{
    arena_done(&r->arena);
}

static str id_of_text(struct arena *a, str text)
{
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(text, hex);
    return arena_printf(a, "conv_%.16s", hex);
}

/* The line feeds keep ids of owners apart from those of nobody, which have a colon there. */
str talk_conv_id(struct talk *t, struct arena *a, const char *kind, str foreign_id)
{
    str id = id_of_text(a, arena_printf(a, "%s:%.*s", kind, STR_ARG(foreign_id)));
    if (t->owner_id.n == 0)
        return id;
    t->old_id = id;
    return id_of_text(
        a, arena_printf(a, "%s\n%.*s\n%.*s", kind, STR_ARG(t->owner_id), STR_ARG(foreign_id)));
}

struct json *import_metadata(struct arena *a, const char *kind, str foreign_id)
{
    struct json *v = json_new(a, JSON_OBJECT);
    json_set(a, v, STR("importedFrom"), json_of_str(str_from(kind)));
    json_set(a, v, STR("sourceId"), json_of_str(foreign_id));
    return v;
}

/* ---- the files below a path that may hold conversations ---- */

enum { DEPTH_MAX = 3 };

struct import_file {
    const char *path; /* in the arena */
    int64_t size;
};

struct collector {
    struct arena *arena;
    struct import_file *files;
    size_t n, cap, max;
};

static void collector_add(struct collector *c, const char *path, int64_t size)
{
    if (c->n == c->max)
        return;
    GROW(c->files, c->n, c->cap);
    c->files[c->n++] = (struct import_file){.path = path, .size = size};
}

static bool is_wanted_file(str name)
{
    if (str_ends(name, STR(".json")))
        return str_starts(name, STR("conversations"));
    return str_ends(name, STR(".jsonl")) && !str_eq(name, STR("notes.jsonl"));
}

static void visit(struct collector *c, const char *dir, int depth)
{
    struct stat st;
    DIR_EACH (d, dir) {
        str name = str_from(d.name);
        if (name.p[0] == '.' || str_eq(name, STR("trash")))
            continue;
        const char *path = arena_printf(c->arena, "%s/%s", dir, d.name).p;
        if (stat(path, &st) < 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            visit(c, path, depth + 1);
        else if (S_ISREG(st.st_mode) && is_wanted_file(name))
            collector_add(c, path, st.st_size);
    }
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct import_file *)a)->path, ((const struct import_file *)b)->path);
}

/* If path is a file, the file itself. If it is a directory: *.jsonl (except notes.jsonl) and
 * conversations*.json, up to three levels deep, sorted by name, without hidden names and trash/.
 * *ret is on the heap. */
static int import_files(struct arena *a, const char *path, size_t max, struct import_file **ret,
                        size_t *ret_n, struct err *e)
{
    struct collector c = {.arena = a, .max = max};
    struct stat st;
    if (stat(path, &st) < 0)
        return err_errno(e, -errno, "cannot read", path);
    if (S_ISDIR(st.st_mode))
        visit(&c, path, 0);
    else if (S_ISREG(st.st_mode))
        collector_add(&c, arena_cstr(a, str_from(path)), st.st_size);
    if (c.n == 0)
        return err_set(e, -ENOENT,
                       "%s contains no conversations: no .jsonl and no conversations.json", path);
    qsort(c.files, c.n, sizeof(*c.files), by_path);
    *ret = c.files;
    *ret_n = c.n;
    return 0;
}

/* ---- the importer ---- */

struct importer {
    enum import_kind wanted, kind; /* of all files, of the current file */
    struct import_report *report;
    struct arena arena; /* of the files */
    struct import_file *files;
    size_t nfiles, at;
    double bytes_done, bytes_total;

    int fd; /* of the current file; -1 = none */
    const char *path;
    struct lines lines;
    struct elements elements;
    const char *root;     /* the directory that was given, or NULL */
    struct assets assets; /* of an export */
    struct log_reader log;
    struct code_session code;

    struct talk talk;
    size_t taken; /* events of the talk that were returned */
    struct arena conv_arena;
    struct conv_create conv;
    bool is_new; /* conv was not returned yet */
    bool has_conv;
    bool has_ended; /* the end of the file was read; its last events may not be returned yet */
};

int importer_open(const char *path, enum import_kind kind, struct import_report *report,
                  struct importer **ret, struct err *e)
{
    struct importer *im = xcalloc(1, sizeof(*im));
    im->wanted = kind;
    im->report = report;
    im->fd = -1;
    arena_init(&im->arena);
    arena_init(&im->conv_arena);
    talk_init(&im->talk);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        im->root = arena_cstr(&im->arena, str_from(path));
    int r = import_files(&im->arena, path, IMPORT_FILES_MAX, &im->files, &im->nfiles, e);
    for (size_t i = 0; i < im->nfiles; i++)
        im->bytes_total += (double)im->files[i].size;
    if (r < 0)
        importer_close(im);
    else
        *ret = im;
    return r;
}

static bool is_array_kind(enum import_kind k)
{
    return k == IMPORT_CHATGPT || k == IMPORT_CLAUDE_AI;
}

/* The format of a file, detected from one line; IMPORT_ANY: not known yet. */
static enum import_kind kind_of_line(const struct json *v, bool is_first)
{
    if (str_eq(json_get_string(v, "type"), STR("conversation-header")))
        return IMPORT_FOLDER;
    if (import_is_code(v))
        return IMPORT_CLAUDE_CODE;
    if (is_first && !json_get(v, "type") && json_get(v, "id"))
        return IMPORT_NB;
    if (json_get(v, "ts") || json_get(v, "role"))
        return IMPORT_NB;
    return IMPORT_ANY;
}

static enum import_kind sniff_lines(int fd, off_t size)
{
    enum import_kind found = IMPORT_ANY;
    struct lines lines;
    struct line line;
    struct arena a;
    arena_init(&a);
    lines_init(&lines, fd, 0, size);
    for (int i = 0; i < SNIFF_LINES && !found && lines_next(&lines, &line) > 0; i++) {
        struct json *v;
        arena_reset(&a);
        if (json_parse(&a, line.text, 0, &v, NULL) == 0)
            found = kind_of_line(v, i == 0);
    }
    lines_done(&lines);
    arena_done(&a);
    return found ? found : IMPORT_NB;
}

static enum import_kind kind_of_element(const struct json *v)
{
    if (import_is_chatgpt(v))
        return IMPORT_CHATGPT;
    return import_is_claude(v) ? IMPORT_CLAUDE_AI : IMPORT_ANY;
}

static enum import_kind sniff_elements(int fd)
{
    enum import_kind found = IMPORT_ANY;
    struct elements elements;
    struct arena a;
    str text;
    struct json *v;
    arena_init(&a);
    elements_init(&elements, fd);
    if (elements_next(&elements, &text) > 0 && json_parse(&a, text, 0, &v, NULL) == 0)
        found = kind_of_element(v);
    elements_done(&elements);
    arena_done(&a);
    return found;
}

/* ---- one file ---- */

static enum import_kind sniff(const struct importer *im, off_t size)
{
    if (im->wanted)
        return im->wanted;
    return str_ends(str_from(im->path), STR(".json")) ? sniff_elements(im->fd)
                                                      : sniff_lines(im->fd, size);
}

static void close_file(struct importer *im)
{
    if (im->fd < 0)
        return;
    if (is_array_kind(im->kind)) {
        elements_done(&im->elements);
        assets_done(&im->assets);
        im->talk.assets = NULL;
    } else {
        lines_done(&im->lines);
    }
    log_reader_done(&im->log);
    close(im->fd);
    im->fd = -1;
}

static void importer_open_file(struct importer *im)
{
    assert(im->fd < 0 && im->at < im->nfiles);
    const struct import_file *f = &im->files[im->at++];
    struct stat st;
    im->path = f->path;
    im->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (im->fd < 0 || fstat(im->fd, &st) < 0) {
        import_lose(im->report, "%s: %s", f->path, err_reason(-errno));
        if (im->fd >= 0)
            close(im->fd);
        im->fd = -1;
        return;
    }
    im->kind = sniff(im, st.st_size);
    if (im->kind == IMPORT_ANY) {
        import_lose(im->report, "%s: is neither a ChatGPT nor a Claude.ai export", f->path);
        close(im->fd);
        im->fd = -1;
        return;
    }
    im->has_conv = im->is_new = im->has_ended = false;
    im->code = (struct code_session){0};
    arena_reset(&im->conv_arena);
    talk_restart(&im->talk);
    log_reader_init(&im->log, f->path, im->kind == IMPORT_FOLDER);
    if (is_array_kind(im->kind)) {
        elements_init(&im->elements, im->fd);
        assets_open(&im->assets, im->root);
        im->talk.assets = &im->assets;
    } else {
        lines_init(&im->lines, im->fd, 0, st.st_size);
    }
}

static void begin_conv(struct importer *im)
{
    im->is_new = im->has_conv = true;
}

/* ---- exports: one conversation at a time ---- */

static void tell_element(struct importer *im, str text)
{
    struct json *v;
    struct err e = {0};
    if (json_parse(&im->conv_arena, text, 0, &v, &e) < 0) {
        import_lose(im->report, "%s: a conversation is not valid JSON (%s)", im->path, e.msg);
        return;
    }
    enum import_kind kind = kind_of_element(v);
    if (kind != im->kind) {
        import_lose(im->report, "%s: a value is not a conversation", im->path);
        return;
    }
    if (kind == IMPORT_CHATGPT)
        import_chatgpt(&im->talk, &im->conv_arena, v, &im->conv);
    else
        import_claude(&im->talk, &im->conv_arena, v, &im->conv);
    begin_conv(im);
    talk_report(&im->talk, im->report, im->conv.id);
}

static void step_elements(struct importer *im)
{
    str text;
    arena_reset(&im->conv_arena);
    talk_restart(&im->talk);
    int r = elements_next(&im->elements, &text);
    if (r > 0) {
        tell_element(im, text);
    } else if (r == -EFBIG) {
        import_lose(im->report, "%s: a conversation is larger than %u MiB", im->path,
                    IMPORT_CONV_BYTES / 1024 / 1024);
    } else {
        im->has_ended = true;
        if (r == -EINVAL)
            import_lose(im->report, "%s: is not a complete array of conversations", im->path);
        else if (r < 0)
            import_lose(im->report, "%s: %s", im->path, err_reason(r));
    }
}

/* ---- logs: by lines ---- */

static void tell_line(struct importer *im, str line)
{
    struct arena a;
    struct json *v;
    if (im->kind != IMPORT_CLAUDE_CODE) {
        if (log_reader_line(&im->log, &im->talk, line, &im->conv))
            begin_conv(im);
        return;
    }
    arena_init(&a);
    if (json_parse(&a, line, 0, &v, NULL) == 0 && json_is(v, JSON_OBJECT))
        import_code_line(&im->code, &im->talk, &im->conv_arena, v);
    else if (str_trim(line).n)
        talk_skip(&im->talk, "a line that is not JSON");
    arena_done(&a);
}

/* A session has no header line: its id comes from the first events. */
static void name_session(struct importer *im)
{
    struct arena *a = &im->conv_arena;
    if (im->has_conv || im->talk.n == 0)
        return;
    str id = im->code.id.n ? im->code.id : str_from(im->path);
    struct json *metadata = import_metadata(a, "claude-code", id);
    if (im->code.cwd.n)
        json_set(a, metadata, STR("cwd"), json_of_str(im->code.cwd));
    im->conv = (struct conv_create){.id = talk_conv_id(&im->talk, a, "claude-code", id),
                                    .created_ms = im->talk.first_ms,
                                    .metadata = metadata};
    begin_conv(im);
}

static void end_of_lines(struct importer *im, int r)
{
    struct talk *t = &im->talk;
    im->has_ended = true;
    if (r < 0)
        import_lose(im->report, "%s: %s", im->path, err_reason(r));
    for (int64_t i = 0; i < im->lines.overlong; i++)
        talk_skip(t, "a line that is too long");
    if (im->kind == IMPORT_CLAUDE_CODE) {
        talk_finish(t);
        if (t->n || im->has_conv)
            talk_title(t, im->code.title);
        name_session(im);
    } else {
        log_reader_end(&im->log, t);
    }
    if (!im->has_conv)
        import_lose(im->report, "%s: contains no conversation", im->path);
    talk_report(t, im->report, im->has_conv ? im->conv.id : str_from(im->path));
}

static void last_line(struct importer *im)
{
    struct stat st = {0};
    struct arena a;
    str text;
    arena_init(&a);
    if (fstat(im->fd, &st) == 0 && lines_unended(&a, im->fd, im->lines.at, st.st_size, &text) > 0)
        tell_line(im, text);
    else if (im->lines.at < st.st_size)
        talk_skip(&im->talk, "an unfinished line at the end");
    arena_done(&a);
}

static void step_lines(struct importer *im)
{
    struct line line;
    int r = 1;
    talk_clear(&im->talk);
    while (im->talk.n < IMPORT_BATCH_MAX && im->talk.bytes < IMPORT_BATCH_BYTES &&
           (r = lines_next(&im->lines, &line)) > 0)
        tell_line(im, line.text);
    if (r <= 0) {
        if (r == 0)
            last_line(im);
        end_of_lines(im, r);
    } else if (im->kind == IMPORT_CLAUDE_CODE) {
        name_session(im);
    }
}

/* ---- batches ---- */

static void importer_take(struct importer *im, struct import_batch *ret)
{
    struct talk *t = &im->talk;
    size_t n = 0, bytes = 0;
    assert(im->has_conv && im->taken <= t->n);
    while (im->taken + n < t->n && n < IMPORT_BATCH_MAX &&
           (n == 0 || bytes + t->events[im->taken + n].n <= IMPORT_BATCH_BYTES))
        bytes += t->events[im->taken + n++].n;
    *ret = (struct import_batch){.is_new = im->is_new,
                                 .conv = im->conv,
                                 .old_id = t->old_id,
                                 .is_export = is_array_kind(im->kind),
                                 .events = n ? t->events + im->taken : NULL,
                                 .n = n};
    if (is_array_kind(im->kind) && im->is_new) {
        ret->blobs = t->files;
        ret->nblobs = t->nfiles;
    } else if (!is_array_kind(im->kind) && im->log.nblobs > 0) {
        ret->blobs = im->log.blobs + im->log.taken_blobs;
        ret->nblobs = im->log.nblobs - im->log.taken_blobs;
        im->log.taken_blobs = im->log.nblobs;
    }
    im->taken += n;
    im->is_new = false;
}

void importer_use_owner(struct importer *im, str owner_id)
{
    im->talk.owner_id = arena_str(&im->arena, owner_id);
}

void importer_use_views(struct importer *im, const struct import_views *v)
{
    assert(v->make);
    im->talk.views = v;
}

int importer_next(struct importer *im, struct import_batch *ret)
{
    for (;;) {
        if (im->fd >= 0 && im->has_conv && (im->is_new || im->taken < im->talk.n)) {
            importer_take(im, ret);
            return 1;
        }
        im->taken = 0;
        if (im->fd >= 0 && im->has_ended) {
            im->bytes_done += (double)im->files[im->at - 1].size;
            close_file(im);
        } else if (im->fd >= 0 && is_array_kind(im->kind)) {
            im->has_conv = false;
            step_elements(im);
        } else if (im->fd >= 0) {
            step_lines(im);
        } else if (im->at < im->nfiles) {
            importer_open_file(im);
        } else {
            return 0;
        }
    }
}

void importer_skip(struct importer *im)
{
    assert(im->has_conv && im->fd >= 0);
    im->taken = im->talk.n;
    im->is_new = false;
    if (!is_array_kind(im->kind))
        im->has_ended = true;
}

double importer_progress(const struct importer *im)
{
    double inside = 0;
    if (im->fd >= 0)
        inside = is_array_kind(im->kind) ? (double)im->elements.at : (double)im->lines.at;
    double share = im->bytes_total > 0 ? (im->bytes_done + inside) / im->bytes_total : 1;
    return share < 1 ? share : 1;
}

void importer_close(struct importer *im)
{
    if (!im)
        return;
    close_file(im);
    talk_done(&im->talk);
    free(im->files);
    arena_done(&im->conv_arena);
    arena_done(&im->arena);
    free(im);
}
