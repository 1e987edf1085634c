/* entry_impl.h - declarations that the decoders of entries share. Private to entry*.c. */
#pragma once

#include "bundle/entry/entry.h"

struct entry_transport {
    str type;
    const struct json *auth, *headers;
    int64_t initial_ms, max_ms, tries;
    str session_id; /* accepted and ignored; a session is always new */
};

struct entry_document {
    str tools; /* "pinned" or "trusted" */
    str name, version, path, url, command, cwd, server_name;
    struct json_strs args, allowed_env;
    const struct json *env, *ui, *user_config, *sandbox;
    str pinned_package, pinned_integrity;
    struct entry_transport transport;
    bool is_protected, is_disabled, allow_private;
    int64_t trust_score, memory_mb, disk_mb;
};

/* One entry that is being decoded. */
struct entry_decoder {
    struct arena *arena;
    const char *base_dir;
    const char *at; /* position of the entry: "bundles[2]", or "" */
    struct entry_document doc;
    struct bundle_entry *out;
    struct err unknown; /* the first key that is not in any table */
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
