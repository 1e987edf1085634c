/* folder_catalog.h - maps the id of a conversation to its folder.
 *
 * The id of a conversation is the threadId in its header, never the name of the folder, so every
 * header is read once. The mtime of the directory shows whether folders were added or removed; only
 * new folders are opened. Two folders with the same threadId are both kept: the id of the second
 * gets the hash of its name.
 *
 * Used by the loop thread and by pool threads at the same time: one lock, held only during a
 * lookup. catalog_refresh reads files without holding it. */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "store/folder/folder_record.h"

struct catalog {
    char *dir; /* <root>/conversations */
    pthread_mutex_t lock;
    struct map by_id, by_name; /* both maps have the same entries */
    bool is_scanned;
    struct timespec dir_time; /* mtime of the directory when it was read */
    int64_t scanned_ms;       /* when it was read */
    pthread_mutex_t scanning; /* one refresh at a time */
};

/* Blocking. Fills p, whose name is set, from the header in a folder; false when the folder is not a
 * conversation. */
bool catalog_describe(struct arena *a, const char *folder, struct folder_place *p);

void catalog_init(struct catalog *c, const char *dir);
void catalog_done(struct catalog *c);

/* Blocking. Makes sure that every folder that existed max_age_ms ago is known. */
int catalog_refresh(struct catalog *c, int64_t max_age_ms, struct err *e);

/* Strings are copied into the arena. */
bool catalog_find(struct catalog *c, struct arena *a, str id, struct folder_place *ret);
bool catalog_has(struct catalog *c, str id);

/* Reserves the id and the folder of a conversation that is being created or restored, so that it is
 * not created twice. False when one of them is in use. Must be followed by confirm or remove. */
bool catalog_reserve(struct catalog *c, str id, const struct folder_place *p);
void catalog_confirm(struct catalog *c, str id);
void catalog_remove(struct catalog *c, str id);

str *catalog_ids(struct catalog *c, struct arena *a, size_t *ret_n); /* a snapshot */
