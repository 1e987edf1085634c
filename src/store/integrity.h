/* integrity.h - a hash chain through a log: whoever changes, removes or inserts a line
 * breaks it at that line.
 *
 * Every line behind the first ends in ,"h":"<64 hex>"} where h is the SHA-256 of the hash of
 * the line before it followed by the line itself without that member. The line before the
 * first chained one counts with the SHA-256 of its text, so that line 1 is covered too. The
 * chain is in the file, not beside it: a copy proves itself. A log that has a chain keeps it,
 * whatever the setting says now; a log that gets one later is covered from there on, and
 * verifying says how many lines were there before. Lines cut off at the end leave a shorter
 * chain that is whole: compare `head` with one noted earlier to notice that.
 *
 * A fork and a converted log have chains of their own; the fork's line 1 names the head of its
 * source at that moment as originHash. */
#pragma once

#include <sys/types.h>

#include "base/bytes/hash.h"
#include "store/store.h"

struct chain { /* of a log that is being written; pool threads */
    int fd;
    off_t size;
    bool is_known; /* head is set, or the chain is off */
    bool is_on;
    char head[SHA256_HEX_LEN + 1]; /* hash of the line before the next one */
};

/* For appending to a log that ends in a line feed at `size`; nothing is read yet. */
void chain_init(struct chain *c, int fd, off_t size);
/* For a new log, behind its first line (with its line feed). */
void chain_start(struct chain *c, str first_line);
/* Before the first chain_seal: finds where the chain stands. It is on when the log has one,
 * or when one is wanted. 0 or -errno. */
int chain_resume(struct chain *c, bool wanted);
/* Replaces *line (with its line feed) by its chained form, or by its plain one when the chain
 * is off: an h that another chain left goes in both cases. */
void chain_seal(struct chain *c, struct arena *a, str *line);
/* The line without its member h, and the hash; false when it has none. Without line feed. */
bool chain_split(str line, str *ret_body, str *ret_hash, struct arena *a);

struct integrity_report {
    bool is_chained;               /* some line has a hash */
    bool is_broken;                /* then: */
    int64_t bad_line;              /* number of the first broken line; line 1 is the metadata */
    char reason[128];              /* "its text was changed", ... */
    int64_t lines;                 /* in the log */
    int64_t uncovered;             /* lines before the chain began, line 1 not counted */
    char head[SHA256_HEX_LEN + 1]; /* hash of the last line */
    int64_t torn_bytes;            /* of a last line that is not finished and that nobody writes */
    char named_id[STORE_ID_MAX + 1]; /* the conversation that line 1 names; "" = none */
    /* store_verify only: */
    int64_t bad_lines; /* that cannot be read */
    bool lacks_header; /* line 1 is lost or damaged */
};

/* Blocking; any thread. 0 also for a broken chain: that is in the report. */
int integrity_verify_file(const char *path, struct integrity_report *ret, struct err *e);

typedef void (*integrity_fn)(void *ctx, const struct err *err, const struct integrity_report *r);

/* Loop thread. -ENOTSUP for stores without files. */
struct store_op *store_verify(struct store *s, str id, integrity_fn fn, void *ctx);
