/* mpak.h - a registry of bundles: search, details, versions, download locations.
 *
 * Each request is a single GET that is answered with JSON. The caller receives the answer
 * unchanged, after the parts that nb uses have been checked. Loop thread only. */
#pragma once

#include "base/json/json.h"
#include "net/fetch.h"

#define MPAK_REGISTRY   "https://registry.mpak.dev"
#define MPAK_TIMEOUT_MS 30000
#define MPAK_ANSWER_MAX (8u * 1024 * 1024)

struct mpak_call;

struct mpak_conf { /* copied; the fetcher must outlive the calls */
    struct fetcher *fetcher;
    const char *base_url; /* NULL = MPAK_REGISTRY */
};

/* Called exactly once unless cancelled, never before the request function has returned. result: the
 * answer, valid during the callback; NULL with err: -ENOENT no such bundle or version,
 * -EIO and others: no usable answer. */
typedef void (*mpak_done)(void *ctx, const struct json *result, const struct err *err);

/* {"bundles": [{name, version?, description ...}], "total"} */
struct mpak_call *mpak_search(const struct mpak_conf *c, str query, int64_t limit, int64_t offset,
                              mpak_done done, void *ctx);
struct mpak_call *mpak_info(const struct mpak_conf *c, str name, mpak_done done, void *ctx);
struct mpak_call *mpak_versions(const struct mpak_conf *c, str name, mpak_done done, void *ctx);
/* {"url", "bundle": {"version", "sha256", ...}} for this machine; checked. version: empty is the
 * latest. */
struct mpak_call *mpak_locate(const struct mpak_conf *c, str name, str version, mpak_done done,
                              void *ctx);
void mpak_cancel(struct mpak_call *call);

/* The flags for fetching a download URL of this registry: its own origin like the registry itself,
 * any other only over https and at public addresses. */
unsigned mpak_fetch_flags(const struct mpak_conf *c, str url);

/* A trust score of 0 to 100 from the registry's data about a bundle (certification level 0 to 4),
 * or -1. */
int64_t mpak_trust_score(const struct json *bundle);

const char *mpak_arch(void); /* "x64", "arm64" ... */
