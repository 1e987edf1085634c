#include <assert.h>

#include "net/child.h"

static str key_of(str pair)
{
    ptrdiff_t eq = str_find_char(pair, '=');
    return eq < 0 ? pair : str_slice(pair, 0, (size_t)eq);
}

static bool is_set_in(const char *const *pairs, str key)
{
    for (; pairs && *pairs; pairs++) {
        if (str_eq(key_of(str_from(*pairs)), key))
            return true;
    }
    return false;
}

/* Variables are written twice: first with no block, to learn its size, then into it. */
struct env_writer {
    char **slots;
    char *at;
    size_t count, bytes;
};

static void write_pair(struct env_writer *w, str key, str value)
{
    size_t size = key.n + 1 + value.n + 1;
    if (w->slots) {
        w->slots[w->count] = w->at;
        memcpy(w->at, key.p, key.n);
        w->at[key.n] = '=';
        if (value.n > 0)
            memcpy(w->at + key.n + 1, value.p, value.n);
        w->at[size - 1] = '\0';
        w->at += size;
    }
    w->count++;
    w->bytes += size;
}

static void write_all(struct env_writer *w, const char *const *names, const char *const *extra)
{
    for (const char *const *n = names; n && *n; n++) {
        const char *value = getenv(*n);
        if (value && !is_set_in(extra, str_from(*n)))
            write_pair(w, str_from(*n), str_from(value));
    }
    for (const char *const *x = extra; x && *x; x++) {
        str pair = str_from(*x), key = key_of(pair);
        if (!is_set_in(x + 1, key)) /* the last of the same name wins */
            write_pair(w, key, str_skip(pair, key.n + 1));
    }
}

char **child_env(const char *const *names, const char *const *extra)
{
    struct env_writer measure = {0};
    write_all(&measure, names, extra);
    size_t pointers = (measure.count + 1) * sizeof(char *);
    char **slots = xcalloc(1, pointers + measure.bytes);
    struct env_writer w = {.slots = slots, .at = (char *)slots + pointers};
    write_all(&w, names, extra);
    assert(w.count == measure.count && w.bytes == measure.bytes);
    return slots;
}
