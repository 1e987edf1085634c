/* integrity.h - a hash chain through a log: changing, removing or inserting a line breaks the chain
 * at that line.
 *
 * Every line behind the first ends in ,"h":"<64 hex>"} where h is the SHA-256 of the hash of the
 * line before it followed by the line itself without that member. For the line before the first
 * chained one, the SHA-256 of its text is used, so that line 1 is covered too. The chain is part of
 * the file, so a copy can be verified alone. A log that has a chain keeps it, whatever the current
 * setting is. A log that gets a chain later is covered from there on, and verification reports the
 * number of lines before it. Removing lines at the end leaves a shorter valid chain: compare `head`
 * with an earlier value to detect that.
 *
 * A fork and a converted log have new chains; line 1 of a fork has the head of its source at that
 * moment as originHash. */
#pragma once

#include <sys/types.h>

#include "base/bytes/hash.h"
#include "store/store.h"

struct chain { /* the chain of a log that is being written; pool threads */
    int fd;
    off_t size;
    bool is_known; /* head is set, or the log has no chain */
    bool is_on;
    char head[SHA256_HEX_LEN + 1]; /* hash of the line before the next one */
};

/* For appending to a log that ends in a line feed at `size`; nothing is read yet. */
void chain_init(struct chain *c, int fd, off_t size);
/* For a new log, behind its first line (with its line feed). */
void chain_start(struct chain *c, str first_line);
/* Reads the head of the chain; must be called before the first chain_seal. The chain is on when the
 * log has one, or when one is wanted. 0 or -errno. */
int chain_resume(struct chain *c, bool wanted);
/* Replaces *line (with its line feed) by its chained form, or by its plain form when the chain is
 * off. The member h of another chain is removed in both cases. */
void chain_seal(struct chain *c, struct arena *a, str *line);
/* The line without its member h, and the hash; false when it has none. Without line feed. */
bool chain_split(str line, str *ret_body, str *ret_hash, struct arena *a);

struct integrity_report {
    bool is_chained;                 /* some line has a hash */
    bool is_broken;                  /* then: */
    int64_t bad_line;                /* number of the first broken line; line 1 is the metadata */
    char reason[128];                /* "it was changed, ...": `it` is the line */
    int64_t lines;                   /* in the log */
    int64_t uncovered;               /* lines before the chain began, line 1 not counted */
    char head[SHA256_HEX_LEN + 1];   /* hash of the last line */
    int64_t torn_bytes;              /* of an unfinished last line that no process is writing */
    char named_id[STORE_ID_MAX + 1]; /* the conversation that line 1 names; "" = none */
    /* store_verify only: */
    int64_t bad_lines; /* that cannot be read */
    bool lacks_header; /* line 1 is lost or damaged */
};

/* Blocking; any thread. Returns 0 also for a broken chain, which is in the report. */
int integrity_verify_file(const char *path, struct integrity_report *ret, struct err *e);

typedef void (*integrity_fn)(void *ctx, const struct err *err, const struct integrity_report *r);

/* Loop thread. -ENOTSUP for stores without files. */
struct store_op *store_verify(struct store *s, str id, integrity_fn fn, void *ctx);
