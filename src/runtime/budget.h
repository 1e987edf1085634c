/* budget.h - what a person and a workspace may spend on models in a month.
 *
 * Admins of the workspace set limits in US dollars: for the workspace, for each person, and for
 * single people. Spending is counted while at least one limit is set: the month so far is read from
 * the logs (usage.h) when the first limit is set or the workspace is opened, and each model call is
 * added when it is appended. Until the logs are read, only what is added counts. Months are those
 * of UTC. Calls whose price is not known cost nothing here. The limits are a document
 * (workspace/doc_file.h). Loop thread. */
#pragma once

#include "runtime/usage.h"
#include "workspace/doc_file.h"

#define BUDGET_WARNING    0.8 /* of a limit: from here on people are warned */
#define BUDGET_USD_MAX    1e9
#define BUDGET_PEOPLE_MAX 1000u

struct budgets;

struct budgets *budgets_open(const struct doc_place *at); /* blocking */
void budgets_reload(struct budgets *b); /* another server has changed the limits */
/* Counting needs the logs and the prices; before the first turn. Borrowed. */
void budgets_start(struct budgets *b, struct store *store, struct llm *llm);
void budgets_stop(struct budgets *b); /* before the store is closed; accepts NULL */
void budgets_free(struct budgets *b); /* accepts NULL */

/* Below, b may be NULL: nothing is limited. */

/* -EDQUOT: this person, or the workspace, may spend nothing more in this month. */
int budgets_check(struct budgets *b, str user_id, struct err *e);
/* An event that is being appended for a run of this person; only model calls count. */
void budgets_note(struct budgets *b, str user_id, str line);

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
