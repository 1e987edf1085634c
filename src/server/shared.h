/* shared.h - what several servers share, by the settings: store.type and store.replicas.
 *
 * With store.replicas users and workspaces are in the database, else they are files. Blocking. */
#pragma once

#include "config/config.h"
#include "store/postgres/pg_consent.h"
#include "store/postgres/pg_roster.h"
#include "store/shared/pg_audit.h"
#include "store/shared/pg_documents.h"
#include "store/shared/pg_file_table.h"
#include "workspace/audit.h"
#include "workspace/roster/directory.h"

/* Says to the database whether other servers use it. -EINVAL: the settings contradict each other.
 */
int shared_prepare(const struct config *c, struct database *db, struct err *e);

struct shared_people {
    struct roster_source *source; /* NULL: files of the work directory */
    struct pg_roster table;
    struct pg_consents *consents;  /* of a server; NULL: files */
    struct pg_file_table files;    /* of a server, if it has consents */
    struct pg_documents documents; /* likewise */
};

/* Opens the database that the source needs. The struct must not be moved. */
int shared_people_open(struct shared_people *p, const struct config *c, struct loop *l,
                       struct logger *log, struct database *db, bool is_sole, struct err *e);
int shared_directory(struct shared_people *p, struct loop *l, struct logger *log,
                     const struct config *c, bool is_sole, struct directory **ret, struct err *e);
void shared_people_close(struct shared_people *p); /* accepts a zeroed struct */

/* If servers share the audit log: `table` is the place of its records. It outlives `a`. */
void shared_audit_use(struct pg_audit *table, const struct config *c, struct database *db,
                      struct audit *a);

/* The audit log, for commands: of all servers, or the files of the work directory. */
struct shared_audit {
    struct audit_log *log;
    struct audit_dir files;
    struct pg_audit table;
    struct loop *loop; /* NULL: files */
    struct database *db;
};
int shared_audit_open(struct shared_audit *x, const struct config *c, struct err *e);
void shared_audit_close(struct shared_audit *x); /* also after an error */

/* One reading, one change: for commands. */
int shared_roster(const struct config *c, bool is_sole, struct roster **ret, struct err *e);
int shared_change(const struct config *c, bool is_sole, const struct change *what,
                  struct change_result *ret, struct err *e);
