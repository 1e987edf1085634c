/* pg_carry.h - carries what a workspace has beside its conversations between the files of one
 * server and the tables that several servers share: files that people gave, notices, marks,
 * permissions that people gave; and users and workspaces themselves.
 *
 * Everything that is carried is read back and compared. Nothing that exists on the other side
 * is changed, so that an interrupted call can be repeated; a difference is reported. Nothing is
 * removed. Blocking, while no server uses the files. */
#pragma once

#include "store/postgres/database.h"
#include "workspace/documents.h"

struct file_table;
struct roster_source;
struct workspace;

#define CARRY_PROBLEMS 50

struct carry_place {
    const char *root;       /* of the workspace */
    const char *people_dir; /* marks (store_marks.c); NULL: there are none as files */
    str workspace_id;
    const struct workspace *workspace; /* permissions of people who left it are not carried */
};

struct carry_report { /* counts of both kinds of calls are added up */
    int64_t files, notices, marks, consents, people; /* carried; people: documents of the roster */
    int64_t existing;                                /* the other side had them */
    int64_t failed;
    str problems[CARRY_PROBLEMS]; /* in the arena */
    size_t nproblems;
};

struct carry {
    struct database *db; /* open */
    struct file_table *files;
    struct document_table *documents;
    struct arena *arena;
    bool is_shared; /* servers use the tables (store.replicas) */
    struct carry_report report;
};

/* An error ends the call: the database cannot be reached, a directory cannot be read. */
int carry_to_tables(struct carry *c, const struct carry_place *p, struct err *e);
int carry_to_files(struct carry *c, const struct carry_place *p, struct err *e);
/* Documents of users and workspaces that `to`, which are files, does not have. */
int carry_people(struct carry *c, struct roster_source *from, struct roster_source *to,
                 struct err *e);

/* Internal to pg_carry*.c and carry_*.c: reports an item that was not copied; the conversion
 * continues. */
__attribute__((format(printf, 2, 3))) void carry_problem(struct carry *c, const char *fmt, ...);
/* carry_consents.c: permissions.json and nb_consent. */
int consents_in(struct carry *c, const struct carry_place *p, struct err *e);
int consents_out(struct carry *c, const struct carry_place *p, struct err *e);
