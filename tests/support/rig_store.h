/* rig_store.h - a memory store whose calls can be held or made to fail.
 *
 *   store_fault(RIG_APPEND, "llm.response", -ENOSPC);   the append of such an event fails
 *   store_hold(RIG_READ);  ...  store_go();              reads wait until the test lets them
 *   store_delay(RIG_READ);  ...  store_deliver();        they are made, but answered later
 *
 * A fault stays until the next store_fault() of its kind (0 = none). */
#pragma once

#include <errno.h>

#include "store/backend/backend.h"
#include "support/unit.h"

enum rig_store_call { RIG_CREATE, RIG_APPEND, RIG_GET, RIG_READ, RIG_PUT_BLOB, RIG_STORE_CALLS };

static struct rig_store {
    struct store_env env;
    struct store_ops ops;
    struct {
        int code;         /* 0 = the call succeeds */
        bool is_once;     /* the second call succeeds */
        const char *type; /* only calls with an event of this type; NULL = all */
        bool is_held;
        bool is_delayed;
        unsigned made; /* so far */
    } kinds[RIG_STORE_CALLS];
    struct store_op *held[64];
    enum rig_store_call held_kind[64];
    size_t nheld;
    struct store_op *delayed[64];
    size_t ndelayed;
} rig_store;

static inline bool store_has_event(const struct store_op *op, const char *type)
{
    char member[64];
    snprintf(member, sizeof member, "\"type\":\"%s\"", type);
    for (size_t i = 0; i < op->nlines; i++)
        if (str_find(op->lines[i], str_from(member), 0) >= 0)
            return true;
    return false;
}

static inline void store_continue(struct store_op *op, enum rig_store_call kind)
{
    const struct store_ops *m = &store_memory_ops;
    void (*real[])(struct store_op *) = {m->create, m->append, m->get, m->read, m->put_blob};
    int code = rig_store.kinds[kind].code;
    const char *type = rig_store.kinds[kind].type;
    if (code == 0 || (type && !store_has_event(op, type))) {
        real[kind](op);
        if (rig_store.kinds[kind].is_delayed) {
            assert_true(rig_store.ndelayed < ARRAY_LEN(rig_store.delayed));
            defer_stop(&op->later);
            rig_store.delayed[rig_store.ndelayed++] = op;
        }
        return;
    }
    if (rig_store.kinds[kind].is_once)
        rig_store.kinds[kind].code = 0;
    err_set(&op->err, code, "%s", strerror(-code));
    op_done_later(op);
}

static inline void store_meet(struct store_op *op, enum rig_store_call kind)
{
    rig_store.kinds[kind].made++;
    if (!rig_store.kinds[kind].is_held) {
        store_continue(op, kind);
        return;
    }
    assert_true(rig_store.nheld < ARRAY_LEN(rig_store.held));
    rig_store.held_kind[rig_store.nheld] = kind;
    rig_store.held[rig_store.nheld++] = op;
}

static inline void rig_store_create(struct store_op *op)
{
    store_meet(op, RIG_CREATE);
}

static inline void rig_store_append(struct store_op *op)
{
    store_meet(op, RIG_APPEND);
}

static inline void rig_store_get(struct store_op *op)
{
    store_meet(op, RIG_GET);
}

static inline void rig_store_read(struct store_op *op)
{
    store_meet(op, RIG_READ);
}

static inline void rig_store_put_blob(struct store_op *op)
{
    store_meet(op, RIG_PUT_BLOB);
}

static inline void store_fault(enum rig_store_call kind, const char *type, int code)
{
    rig_store.kinds[kind].code = code;
    rig_store.kinds[kind].type = type;
    rig_store.kinds[kind].is_once = false;
}

static inline void store_fault_once(enum rig_store_call kind, const char *type, int code)
{
    store_fault(kind, type, code);
    rig_store.kinds[kind].is_once = true;
}

static inline void store_hold(enum rig_store_call kind)
{
    rig_store.kinds[kind].is_held = true;
}

/* Nothing is held any more; calls that were held continue in their order. */
static inline void store_go(void)
{
    size_t n = rig_store.nheld;
    rig_store.nheld = 0;
    for (size_t i = 0; i < RIG_STORE_CALLS; i++)
        rig_store.kinds[i].is_held = false;
    for (size_t i = 0; i < n; i++)
        store_continue(rig_store.held[i], rig_store.held_kind[i]);
}

static inline void store_delay(enum rig_store_call kind)
{
    rig_store.kinds[kind].is_delayed = true;
}

/* Calls that were delayed are answered with what was true when they were made. */
static inline void store_deliver(void)
{
    for (size_t i = 0; i < RIG_STORE_CALLS; i++)
        rig_store.kinds[i].is_delayed = false;
    for (size_t i = 0; i < rig_store.ndelayed; i++)
        op_done_later(rig_store.delayed[i]);
    rig_store.ndelayed = 0;
}

static inline struct store *store_begin(struct loop *loop, struct bus *bus, struct pool *pool,
                                        const char *workspace_id)
{
    struct store *s;
    struct err e = {0};
    struct store_conf conf = {.type = "memory", .workspace_id = workspace_id};
    rig_store = (struct rig_store){.env = {.loop = loop, .bus = bus, .readers = pool}};
    if (store_open(&rig_store.env, &conf, &s, &e) < 0)
        fail_msg("%s", e.msg);
    rig_store.ops = store_memory_ops;
    rig_store.ops.create = rig_store_create;
    rig_store.ops.append = rig_store_append;
    rig_store.ops.get = rig_store_get;
    rig_store.ops.read = rig_store_read;
    rig_store.ops.put_shared = rig_store_put_blob;
    s->ops = &rig_store.ops;
    return s;
}
