/* inspect_json.c - an inspection as JSON. It never contains values of variables. */
#include "bundle/plan/inspect.h"

static void write_strs(struct json_writer *w, const char *key, const struct json_strs *l)
{
    jw_kstrs(w, key, l->items, l->len);
}

static void write_args(struct json_writer *w, const char *const *argv)
{
    jw_kstr(w, "command", str_from(argv[0]));
    jw_karray(w, "args");
    for (size_t i = 1; argv[i]; i++)
        jw_cstr(w, argv[i]);
    jw_end(w);
}

static void write_paths(struct json_writer *w, struct arena *a, const struct inspection *in)
{
    size_t n;
    const struct path_grant *all = inspection_paths(a, in, &n);
    jw_karray(w, "paths");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_kstr(w, "path", str_from(all[i].path));
        jw_kstr(w, "rights", str_from(path_right_name(all[i].right)));
        jw_kstr(w, "why", str_from(all[i].why));
        jw_end(w);
    }
    jw_end(w);
}

static void write_proposals(struct json_writer *w, const struct inspection *in)
{
    jw_karray(w, "proposals");
    for (size_t i = 0; i < in->nproposals; i++) {
        jw_object(w);
        jw_kstr(w, "key", in->proposals[i].option->key);
        write_strs(w, "paths", &in->proposals[i].paths);
        jw_end(w);
    }
    jw_end(w);
}

void inspection_write(struct json_writer *w, struct arena *a, const struct inspection *in)
{
    struct json_strs variables = inspection_variables(a, in);
    const struct manifest *m = in->manifest;
    jw_object(w);
    jw_kstr(w, "name", in->entry->server_name);
    if (m) {
        jw_kstr(w, "package", m->name);
        jw_kstr(w, "version", m->version);
    }
    if (in->npm) {
        jw_kstr(w, "package", in->npm->name);
        jw_kstr(w, "version", in->npm->version);
        jw_kstr(w, "integrity", in->npm->integrity);
    }
    write_args(w, in->plan.program);
    jw_kstr(w, "cwd", str_from(in->cwd));
    jw_kstr(w, "sandbox", in->plan.description);
    write_paths(w, a, in);
    write_strs(w, "network", &in->plan.reach);
    write_strs(w, "variables", &variables);
    if (m && m->tools.len > 0)
        write_strs(w, "tools", &m->tools);
    write_proposals(w, in);
    write_strs(w, "missing", &in->missing);
    jw_end(w);
}
