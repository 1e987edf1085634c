/* entry_impl.h - declarations that the decoders of entries share. Private to entry*.c. */
#pragma once

#include "bundle/entry/entry.h"

struct entry_document {
    struct bundle_entry out; /* members that are used as they are written, and all results */
    str tools;               /* "pinned" or "trusted" */
    const struct json *env, *sandbox, *network;
    str pinned_package;
    str transport_type;
    const struct json *auth, *headers;
    str session_id; /* accepted and ignored; a session is always new */
};

/* One entry that is being decoded. */
struct entry_decoder {
    struct arena *arena;
    const char *base_dir;
    const char *at; /* position of the entry: "bundles[2]", or "" */
    struct entry_document doc;
    struct bundle_entry *out; /* in doc */
    struct err unknown;       /* the first key that is not in any table */
    struct err *e;
};

/* "bundles[2].env: message"; returns -EINVAL. */
int entry_refuse(struct entry_decoder *d, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool entry_has_control(str s);
/* An object whose values are all strings, as pairs. */
int entry_decode_pairs(struct entry_decoder *d, const char *field, const struct json *obj,
                       struct bundle_pair **ret, size_t *ret_n);

int entry_decode_network(struct entry_decoder *d, const struct json *v); /* sandbox.network */
int entry_decode_remote(struct entry_decoder *d);                        /* url and transport */
