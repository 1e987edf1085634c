#include "server/shared.h"

#include <errno.h>

#include "store/store.h"

int shared_prepare(const struct config *c, struct database *db, struct err *e)
{
    if (!c->store.replicas)
        return 0;
    if (!store_type_is_shared(c->store.type))
        return err_set(e, -EINVAL,
                       "store.replicas needs a database that servers share: set store.type to "
                       "postgres, or store.replicas to false");
    database_share(db);
    return 0;
}

static int open_table(struct shared_people *p, const struct config *c, struct database *db,
                      bool is_sole, struct err *e)
{
    int r = database_open(db, false, e);
    if (r == 0)
        r = pg_roster_init(&p->table, db, c->work_dir, is_sole, e);
    p->source = &p->table.source;
    return r;
}

int shared_people_open(struct shared_people *p, const struct config *c, struct loop *l,
                       struct logger *log, struct database *db, bool is_sole, struct err *e)
{
    *p = (struct shared_people){0};
    if (!c->store.replicas)
        return 0;
    p->consents = pg_consents_new(l, log, db);
    pg_file_table_init(&p->files, db);
    pg_documents_init(&p->documents, db);
    return open_table(p, c, db, is_sole, e);
}

int shared_directory(struct shared_people *p, struct loop *l, struct logger *log,
                     const struct config *c, bool is_sole, struct directory **ret, struct err *e)
{
    return p->source ? directory_new_from(l, log, p->source, ret, e)
                     : directory_new(l, log, c->work_dir, is_sole, ret, e);
}

void shared_people_close(struct shared_people *p)
{
    pg_consents_free(p->consents);
    *p = (struct shared_people){0};
}

/* ---- commands ---- */

struct visitor { /* a database for one call */
    struct loop *loop;
    struct database *db;
    struct shared_people people;
};

static int visitor_open(struct visitor *v, const struct config *c, bool is_sole, struct err *e)
{
    *v = (struct visitor){.loop = loop_new(NULL)};
    v->db = database_new(v->loop, NULL, c->store.url);
    int r = shared_prepare(c, v->db, e);
    return r < 0 ? r : open_table(&v->people, c, v->db, is_sole, e);
}

static void visitor_close(struct visitor *v)
{
    database_free(v->db);
    loop_free(v->loop);
}

int shared_roster(const struct config *c, bool is_sole, struct roster **ret, struct err *e)
{
    struct visitor v;
    struct err local = {0};
    e = e ? e : &local;
    if (!c->store.replicas)
        return roster_load(c->work_dir, is_sole, ret, e);
    int r = visitor_open(&v, c, is_sole, e);
    if (r == 0)
        r = roster_load_from(v.people.source, ret, e);
    visitor_close(&v);
    return r;
}

int shared_change(const struct config *c, bool is_sole, const struct change *what,
                  struct change_result *ret, struct err *e)
{
    struct visitor v;
    if (!c->store.replicas)
        return change_apply(c->work_dir, is_sole, what, ret, e);
    int r = visitor_open(&v, c, is_sole, e);
    if (r == 0)
        r = change_apply_to(v.people.source, what, ret, e);
    visitor_close(&v);
    return r;
}

void shared_audit_use(struct pg_audit *table, const struct config *c, struct database *db,
                      struct audit *a)
{
    if (!c->store.replicas)
        return;
    pg_audit_init(table, db);
    audit_share(a, &table->log);
}

int shared_audit_open(struct shared_audit *x, const struct config *c, struct err *e)
{
    *x = (struct shared_audit){.log = &x->files.log};
    audit_dir_init(&x->files, c->work_dir);
    if (!c->store.replicas)
        return 0;
    x->loop = loop_new(NULL);
    x->db = database_new(x->loop, NULL, c->store.url);
    x->log = &x->table.log;
    pg_audit_init(&x->table, x->db);
    int r = shared_prepare(c, x->db, e);
    return r < 0 ? r : database_open(x->db, false, e);
}

void shared_audit_close(struct shared_audit *x)
{
    if (!x->loop)
        return;
    database_free(x->db);
    loop_free(x->loop);
}
