/* budget.h - what a person and a workspace may spend on models in a month.
 *
 * Admins of the workspace set limits in US dollars: for the workspace, for each person, and for
 * single people. Spending is counted while at least one limit is set: the month so far is read from
 * the logs (usage.h) when the first limit is set or the workspace is opened, and each model call is
 * added when it is appended. Until the logs are read, only what is added counts. Months are those
 * of UTC. Calls whose price is not known cost nothing here. The limits are a document
 * (workspace/doc_file.h).
 *
 * If several servers use the store, it counts for all of them (store_counts_spending): each append
 * names what it has cost, whether there is a limit or not, and what is known here is read from the
 * store, plus the calls of this server since that reading began. Loop thread. */
#pragma once

#include "runtime/usage.h"
#include "workspace/doc_file.h"

#define BUDGET_WARNING    0.8 /* of a limit: from here on people are warned */
#define BUDGET_USD_MAX    1e9
#define BUDGET_PEOPLE_MAX 1000u
#define BUDGET_STALE_MS   500u /* what the store has counted is read again when it is older */

struct budgets;

struct budgets *budgets_open(const struct doc_place *at); /* blocking */
void budgets_reload(struct budgets *b); /* another server has changed the limits */
/* Counting needs the logs and the prices; before the first turn. Borrowed. */
void budgets_start(struct budgets *b, struct store *store, struct llm *llm);
void budgets_stop(struct budgets *b); /* before the store is closed; accepts NULL */
void budgets_free(struct budgets *b); /* accepts NULL */

/* Below, b may be NULL: nothing is limited. */

struct budget_wait { /* embedded; zeroed before the first use */
    struct list_node node;
    loop_fn fn;
    void *ctx;
};
/* Calls fn when what other servers had spent before this call is known, or cannot be found out;
 * immediately without limits, or without other servers. */
void budgets_fresh(struct budgets *b, struct budget_wait *wait, loop_fn fn, void *ctx);
void budgets_forget(struct budget_wait *wait); /* fn is not called any more; absent is fine */

/* -EDQUOT: this person, or the workspace, may spend nothing more in this month. */
int budgets_check(struct budgets *b, str user_id, struct err *e);
/* Events that are being appended for a run of this person; only model calls count. The result goes
 * with the append; user_id is borrowed. */
struct store_spend budgets_note(struct budgets *b, str user_id, const str *lines, size_t n);

/* The members {month, isCounting, personal, workspace}; with amounts of the workspace and all
 * limits for admins. */
void budgets_write(struct budgets *b, str user_id, bool is_admin, struct json_writer *w);

struct budget_edit { /* NULL = as before; JSON null = no limit; else an amount in USD */
    const struct json *workspace, *person;
    const struct json *people; /* {user id: amount or null} */
};
/* -EINVAL for an amount that is not one. */
struct doc_change *budgets_change(struct budgets *b, const struct budget_edit *edit,
                                  doc_changed_fn fn, void *ctx);
