/* folder_catalog.h - which folder holds which conversation.
 *
 * The id of a conversation is the threadId in its header, never the folder's name, so every
 * header is read once. A look at the directory's time tells whether anything came or went;
 * only folders not known yet are opened. Two folders with the same threadId are both kept:
 * the second one's id gets the hash of its name.
 *
 * Used by the loop thread and by pool threads at the same time: one lock, held for no longer
 * than it takes to look something up. catalog_refresh reads files without it. */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "store/folder/folder_record.h"

struct catalog {
    char *dir; /* <root>/conversations */
    pthread_mutex_t lock;
    struct map by_id, by_name; /* the same entries */
    bool is_scanned;
    struct timespec dir_time; /* of the directory when it was read */
    int64_t scanned_ms;       /* when that was */
    pthread_mutex_t scanning; /* one refresh at a time */
};

/* Blocking. Fills p, whose name is set, from the header in a folder; false when the folder
 * holds no conversation. */
bool catalog_describe(struct arena *a, const char *folder, struct folder_place *p);

void catalog_init(struct catalog *c, const char *dir);
void catalog_done(struct catalog *c);

/* Blocking. Makes sure that what was there max_age_ms ago is known. */
int catalog_refresh(struct catalog *c, int64_t max_age_ms, struct err *e);

/* Strings are copied into the arena. */
bool catalog_find(struct catalog *c, struct arena *a, str id, struct folder_place *ret);
bool catalog_has(struct catalog *c, str id);

/* A conversation that is being made or taken back: known at once, so that nobody makes it
 * twice. False when the id or the folder is taken. Ends in confirm or remove. */
bool catalog_reserve(struct catalog *c, str id, const struct folder_place *p);
void catalog_confirm(struct catalog *c, str id);
void catalog_remove(struct catalog *c, str id);

str *catalog_ids(struct catalog *c, struct arena *a, size_t *ret_n); /* as of now */
