/* import_log.h - imports logs of nb and chats of the folder layout: line 1 becomes a new
 * conversation, every other line an event. Pool threads. */
#pragma once

#include "transfer/import_impl.h"

struct log_reader {
    bool is_folder;
    const char *path;
    bool has_header;
    struct map notes;     /* folder: keys of the notes in the chat */
    struct arena arena;   /* of the conversation */
    struct arena scratch; /* of one line */
    int64_t last_ms;      /* time of the previous line */
    const char **blob_paths;
    size_t nblobs;
};

void log_reader_init(struct log_reader *r, const char *path, bool is_folder);
void log_reader_done(struct log_reader *r);
/* Processes one line of the file. Returns true once, when conv has been filled. */
bool log_reader_line(struct log_reader *r, struct talk *t, str line, struct conv_create *conv);
void log_reader_end(struct log_reader *r, struct talk *t); /* adds notes that are not in the chat */
