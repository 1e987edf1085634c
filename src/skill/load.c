#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skill/impl.h"
#include "workspace/roster/roster.h"

#define FILES_MAX (2 * SKILLS_MAX) /* read from one directory */

struct skills {
    size_t refs;           /* a view uses the references of its parent */
    struct skills *parent; /* of a view; else NULL */
    str user_id;           /* the user of a view */
    struct skills **views; /* of users with personal skills; a view has none */
    size_t n_views;
    struct arena arena;
    struct skill *items; /* heap: most sets are far smaller than the largest */
    size_t len, cap, max;
    const struct skill **context;
    size_t n_context;
    struct skill_problems problems;
};

const char *skill_origin_name(enum skill_origin o)
{
    static const char *const NAMES[] = {
        [SKILL_CORE] = "core",         [SKILL_BUILTIN] = "built-in",
        [SKILL_GLOBAL] = "global",     [SKILL_CONFIG] = "configured",
        [SKILL_PROJECT] = "project",   [SKILL_WORKSPACE] = "workspace",
        [SKILL_PERSONAL] = "personal",
    };
    return NAMES[o];
}

const char *skill_type_name(enum skill_type t)
{
    return t == SKILL_CONTEXT ? "context" : "skill";
}

bool skill_name_reserved(str name)
{
    static const str RESERVED[] = {STR_INIT("soul"), STR_INIT("bootstrap"),
                                   STR_INIT("capabilities"), STR_INIT("skill-authoring")};
    for (size_t i = 0; i < ARRAY_LEN(RESERVED); i++)
        if (str_eq_nocase(name, RESERVED[i]))
            return true;
    return false;
}

/* ---- the set ---- */

static struct skill *skills_lookup(const struct skills *s, str name)
{
    for (size_t i = 0; i < s->len; i++)
        if (str_eq(s->items[i].name, name))
            return &s->items[i];
    return NULL;
}

static void skills_push(struct skills *s, const struct skill *skill)
{
    GROW(s->items, s->len, s->cap);
    s->items[s->len++] = *skill;
}

/* A later skill takes the place of an earlier one of the same name, so that overriding a skill does
 * not change the order of matching. */
static void skills_add(struct skills *s, const struct skill *skill)
{
    struct skill *earlier = skills_lookup(s, skill->name);

    if (skill->origin == SKILL_PERSONAL && (earlier || skill_name_reserved(skill->name)))
        skill_problem_add(&s->arena, &s->problems, SKILL_ERROR, skill->path, 0,
                          "not loaded: a personal skill cannot replace a skill of the same name");
    else if (earlier)
        *earlier = *skill;
    else if (s->len < s->max)
        skills_push(s, skill);
    else
        skill_problem_add(&s->arena, &s->problems, SKILL_ERROR, skill->path, 0,
                          "not loaded: there are %zu skills already", s->len);
}

static void add_skill_text(struct skills *s, str path, str text, const struct skill_dir *dir,
                           str home)
{
    struct skill skill;

    if (skill_parse(&s->arena, path, text, dir->is_standard, &skill, &s->problems) < 0)
        return;
    skill.origin = dir->origin;
    skill.dir = arena_str(&s->arena, dir->path);
    skill.home = arena_str(&s->arena, home);
    skills_add(s, &skill);
}

static void add_inline(struct skills *s, const struct skill_dir *dir)
{
    for (size_t i = 0; i < (dir->inline_skills->type == JSON_ARRAY ? dir->inline_skills->len : 0);
         i++) {
        str path = arena_printf(&s->arena, "%.*s[%zu]", STR_ARG(dir->path), i);
        struct skill skill;
        if (skill_from_json(&s->arena, path, json_at(dir->inline_skills, i), &skill, &s->problems) <
            0)
            continue;
        skill.origin = dir->origin;
        skills_add(s, &skill);
    }
}

static struct skill copy_skill(struct arena *a, const struct skill *s)
{
    struct skill c = *s;
    str *texts[] = {&c.name, &c.description, &c.version, &c.category, &c.author,
                    &c.body, &c.path,        &c.dir,     &c.home};
    struct json_strs *lists[] = {&c.allowed_tools, &c.requires_bundles, &c.triggers,       &c.tags,
                                 &c.keywords,      &c.folded_triggers,  &c.folded_keywords};

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_str(a, *texts[i]);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        *lists[i] = json_strs_copy(a, *lists[i]);
    return c;
}

/* ---- files ---- */

static int read_whole(int fd, struct buf *out)
{
    for (;;) {
        if (buf_reserve(out, 4096) < 0)
            return -EFBIG;
        ssize_t n = read(fd, out->p + out->n, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        out->n += (size_t)n;
        out->p[out->n] = '\0';
    }
}

/* O_NONBLOCK: a FIFO named x.md must not block the loader. */
static int read_skill_file(int dir_fd, const char *name, struct buf *out)
{
    struct stat st;
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;

    int rc = fstat(fd, &st) < 0 ? -errno : 0;
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = -EINVAL;
    if (rc == 0)
        rc = read_whole(fd, out);
    close(fd);
    return rc;
}

static void load_file(struct skills *s, const struct skill_dir *dir, int dir_fd, const char *name)
{
    str path = arena_printf(&s->arena, "%.*s/%s", STR_ARG(dir->path), name);
    ptrdiff_t slash = str_rfind_char(path, '/');
    str home = dir->is_standard ? str_slice(path, 0, (size_t)slash) : STR_NONE;
    struct buf text;

    buf_init(&text, SKILL_BYTES_MAX + 8192);
    int rc = read_skill_file(dir_fd, name, &text);
    if (rc == 0)
        add_skill_text(s, path, buf_str(&text), dir, home);
    else if (!(dir->is_standard && (rc == -ENOENT || rc == -ENOTDIR)))
        skill_problem_add(&s->arena, &s->problems, SKILL_ERROR, path, 0, "cannot be read: %s",
                          rc == -EFBIG ? "larger than 256 KiB" : err_reason(rc));
    buf_done(&text);
}

static int compare_skill_names(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* The files to read, relative to the directory. */
static char *wanted_name(const struct skill_dir *dir, const struct dirent *e)
{
    struct buf name;

    if (e->d_name[0] == '.')
        return NULL;
    if (!dir->is_standard)
        return str_ends(str_from(e->d_name), STR(".md")) ? str_dup(str_from(e->d_name)) : NULL;
    buf_init(&name, sizeof(e->d_name) + 16);
    buf_printf(&name, "%s/SKILL.md", e->d_name);
    return buf_take(&name, NULL);
}

/* Returns 0 or -errno. The names are sorted, so that every machine loads the same order. */
static int list_files(const struct skill_dir *dir, DIR *d, char **names, size_t *ret_n)
{
    const struct dirent *e;
    size_t n = 0;

    errno = 0;
    while ((e = readdir(d)) != NULL && n < FILES_MAX) {
        char *name = wanted_name(dir, e);
        if (name)
            names[n++] = name;
        errno = 0;
    }
    int rc = -errno;
    qsort(names, n, sizeof(names[0]), compare_skill_names);
    *ret_n = n;
    return rc;
}

static DIR *open_dir(struct arena *a, str path)
{
    int fd = open(arena_cstr(a, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !d)
        close(fd);
    return d;
}

static int load_dir(struct skills *s, const struct skill_dir *dir)
{
    char **names = xcalloc(FILES_MAX, sizeof(*names));
    DIR *d = open_dir(&s->arena, dir->path);
    size_t n = 0;
    int rc = d ? list_files(dir, d, names, &n) : -errno;

    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            load_file(s, dir, dirfd(d), names[i]);
        free(names[i]);
    }
    if (d)
        closedir(d);
    free(names);
    return rc;
}

static void keep_previous(struct skills *s, const struct skill_dir *dir,
                          const struct skills *previous)
{
    for (size_t i = 0; previous && i < previous->len; i++) {
        if (!str_eq(previous->items[i].dir, dir->path))
            continue;
        struct skill copy = copy_skill(&s->arena, &previous->items[i]);
        skills_add(s, &copy);
    }
}

static void load_or_keep(struct skills *s, const struct skill_dir *dir,
                         const struct skills *previous)
{
    int rc = load_dir(s, dir);

    if (rc == 0 || (rc == -ENOENT && !dir->is_expected))
        return;
    if (rc == -ENOENT) {
        skill_problem_add(&s->arena, &s->problems, SKILL_WARNING, dir->path, 0,
                          "this skill directory does not exist");
        return;
    }
    skill_problem_add(&s->arena, &s->problems, SKILL_ERROR, dir->path, 0,
                      "this skill directory cannot be read: %s; %s", err_reason(rc),
                      previous ? "its skills stay as loaded before" : "its skills are missing");
    keep_previous(s, dir, previous);
}

/* ---- loading ---- */

static int by_priority(const void *x, const void *y)
{
    const struct skill *a = *(const struct skill *const *)x;
    const struct skill *b = *(const struct skill *const *)y;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    return a < b ? -1 : a > b; /* both are in items, in load order */
}

static void collect_context(struct skills *s)
{
    assert(!s->context && s->len <= s->max);
    s->context = arena_array(&s->arena, s->len, sizeof(*s->context));
    for (size_t i = 0; i < s->len; i++)
        if (s->items[i].type == SKILL_CONTEXT)
            s->context[s->n_context++] = &s->items[i];
    if (s->n_context > 1)
        qsort(s->context, s->n_context, sizeof(*s->context), by_priority);
}

/* ---- personal skills ---- */

/* The common skills, then the personal ones. A view never contains personal skills of another
 * user. */
static struct skills *view_new(struct skills *s, const struct skill_dir *people, const char *user)
{
    assert(!s->parent && s->refs > 0);
    struct skills *v = xcalloc(1, sizeof(*v));
    arena_init(&v->arena);
    v->parent = s;
    v->user_id = arena_str(&v->arena, str_from(user));
    v->max = s->len + SKILL_PERSONAL_MAX;
    for (size_t i = 0; i < s->len; i++)
        skills_push(v, &s->items[i]);
    struct skill_dir own = {
        .path = arena_printf(&v->arena, "%.*s/%s/skills", STR_ARG(people->path), user),
        .origin = SKILL_PERSONAL};
    load_or_keep(v, &own, NULL);
    collect_context(v);
    for (size_t i = 0; i < v->problems.len; i++) {
        const struct skill_problem *p = &v->problems.items[i];
        skill_problem_add(&s->arena, &s->problems, p->severity, p->path, p->line, "%.*s",
                          STR_ARG(p->message));
    }
    return v;
}

static void view_free(struct skills *v)
{
    assert(v->parent && v->refs == 0 && v->n_views == 0);
    free(v->items);
    arena_done(&v->arena);
    free(v);
}

static void load_people(struct skills *s, const struct skill_dir *people)
{
    const struct dirent *e;
    DIR *d = open_dir(&s->arena, people->path);
    if (!d)
        return;
    s->views = arena_array(&s->arena, SKILL_PEOPLE_MAX, sizeof(*s->views));
    while ((e = readdir(d)) != NULL && s->n_views < SKILL_PEOPLE_MAX) {
        if (!user_id_ok(str_from(e->d_name)))
            continue;
        struct skills *v = view_new(s, people, e->d_name);
        if (v->len > s->len)
            s->views[s->n_views++] = v;
        else
            view_free(v);
    }
    closedir(d);
}

struct skills *skills_for(struct skills *s, str user_id)
{
    for (size_t i = 0; s && user_id.n > 0 && i < s->n_views; i++)
        if (str_eq(s->views[i]->user_id, user_id))
            return s->views[i];
    return s;
}

struct skills *skills_load(const struct skill_dir *dirs, size_t n_dirs,
                           const struct skills *previous)
{
    struct skills *s = xcalloc(1, sizeof(*s));

    s->refs = 1;
    s->max = SKILLS_MAX;
    arena_init(&s->arena);
    for (size_t i = 0; i < skills_embedded_len; i++) {
        const struct skill_embedded *e = &skills_embedded[i];
        add_skill_text(s, e->path, e->text, &(struct skill_dir){.origin = e->origin}, STR_NONE);
    }
    for (size_t i = 0; i < n_dirs; i++) {
        if (dirs[i].inline_skills)
            add_inline(s, &dirs[i]);
        else if (!dirs[i].is_people)
            load_or_keep(s, &dirs[i], previous);
    }
    collect_context(s);
    for (size_t i = 0; i < n_dirs; i++)
        if (dirs[i].is_people)
            load_people(s, &dirs[i]);
    return s;
}

struct skills *skills_ref(struct skills *s)
{
    assert((s->parent ? s->parent : s)->refs > 0);
    if (s->parent)
        s->parent->refs++;
    else
        s->refs++;
    return s;
}

struct skills *skills_unref(struct skills *s)
{
    if (!s)
        return NULL;
    if (s->parent)
        s = s->parent;
    assert(s->refs > 0);
    if (--s->refs == 0) {
        for (size_t i = 0; i < s->n_views; i++)
            view_free(s->views[i]);
        free(s->items);
        arena_done(&s->arena);
        free(s);
    }
    return NULL;
}

size_t skills_len(const struct skills *s)
{
    return s->len;
}

const struct skill *skills_at(const struct skills *s, size_t i)
{
    assert(i < s->len);
    return &s->items[i];
}

const struct skill *skills_find(const struct skills *s, str name)
{
    return skills_lookup(s, name);
}

const struct skill_problems *skills_problems(const struct skills *s)
{
    return &s->problems;
}

const struct skill *const *skills_context(const struct skills *s, size_t *ret_n)
{
    *ret_n = s->n_context;
    return s->context;
}
