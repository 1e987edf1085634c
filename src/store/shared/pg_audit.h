/* pg_audit.h - the audit log of all servers of a database (workspace/audit_log.h), in nb_audit.
 *
 * A row of nb_audit_head has the last number and hash. An append locks it, so that the records of
 * all servers are one chain, and a record with a higher number was committed later. The answer to
 * COMMIT may be lost: the next append looks whether the records are there, and does not write them
 * twice. One thread at a time appends through one struct. */
#pragma once

#include "store/postgres/database.h"
#include "workspace/audit_log.h"

struct pg_audit {
    struct audit_log log;
    struct database *db; /* borrowed; open when the log is used */
    size_t doubtful;     /* records of an append that has ended without an answer; 0 = none */
    int64_t doubtful_seq;
    char doubtful_hash[SHA256_HEX_LEN + 1]; /* of the last of them */
};

void pg_audit_init(struct pg_audit *a, struct database *db);
