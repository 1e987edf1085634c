#include "store/backend/unreadable.h"

#include <errno.h>

#include "base/log.h"
#include "store/backend/backend.h"

void unreadable_init(struct unreadable *u)
{
    pthread_mutex_init(&u->lock, NULL);
    map_init(&u->why);
}

void unreadable_done(struct unreadable *u)
{
    struct map_entry *entry;
    for (size_t i = 0; (entry = map_next(&u->why, &i)) != NULL;)
        free(entry->value);
    map_done(&u->why);
    pthread_mutex_destroy(&u->lock);
}

void unreadable_add(struct store *s, str id, const struct err *why)
{
    struct unreadable *u = &s->unreadable;
    if (why->code == -ENOENT)
        return;
    pthread_mutex_lock(&u->lock);
    bool is_new = !map_get(&u->why, id) && map_len(&u->why) < UNREADABLE_MAX;
    if (is_new)
        map_put(&u->why, id, str_dup(str_from(why->msg)));
    pthread_mutex_unlock(&u->lock);
    if (is_new)
        log_warn(s->env->log, "store", "conversation %.*s is left out of lists: %s", STR_ARG(id),
                 why->msg);
}

static void unreadable_forget(struct unreadable *u, str id)
{
    pthread_mutex_lock(&u->lock);
    free(map_del(&u->why, id));
    pthread_mutex_unlock(&u->lock);
}

static size_t copy_ids(struct unreadable *u, struct arena *a, str **ret)
{
    struct map_entry *entry;
    size_t n = 0;
    pthread_mutex_lock(&u->lock);
    *ret = arena_array(a, map_len(&u->why) + 1, sizeof(str));
    for (size_t i = 0; (entry = map_next(&u->why, &i)) != NULL;)
        (*ret)[n++] = arena_str(a, entry->key);
    pthread_mutex_unlock(&u->lock);
    return n;
}

static bool one_is_enough(void *ctx, str line, store_pos end)
{
    return false;
}

void unreadable_name(struct store *s, struct arena *a, struct store_listing *ret)
{
    str *ids;
    size_t n = copy_ids(&s->unreadable, a, &ids);
    str *names = arena_array(a, n + 1, sizeof(*names));
    ret->unreadable = names;
    ret->nunreadable = 0;
    for (size_t i = 0; i < n; i++) {
        struct err e = {0};
        if (s->ops->scan(s, ids[i], one_is_enough, NULL, &e) == 0 || e.code == -ENOENT)
            unreadable_forget(&s->unreadable, ids[i]);
        else
            names[ret->nunreadable++] = arena_str(a, str_from(e.msg));
    }
}
