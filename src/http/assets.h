/* assets.h - the files of the web page, embedded in the binary.
 *
 * scripts/build-web bundles web/ and generates the table; its bytes live in a read-only
 * section and are valid as long as the process runs. Only the `nb` program carries them: in unit
 * tests and fuzzers the table is empty. Everything here is pure and may be called from any thread.
 */
#pragma once

#include "base/str.h"

struct asset {
    str path; /* "/index.html", "/assets/main-4F2K.js" */
    str mime; /* whole Content-Type */
    str etag; /* with its quotes, from the SHA-256 of bytes */
    str bytes;
    str gzip;          /* empty when it would not save anything worth a header */
    bool is_immutable; /* the name contains a hash of the content: cache without expiry */
};

struct asset_table {
    const struct asset *items; /* sorted by path, bytewise */
    size_t count;
};

/* The asset with exactly this path, or NULL. "/" is not an alias: ask for "/index.html". */
const struct asset *assets_find(str path);

/* The same lookup in a table of the caller's. */
const struct asset *asset_table_find(const struct asset_table *table, str path);
