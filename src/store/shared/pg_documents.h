/* pg_documents.h - documents of workspaces in the database (workspace/documents.h): nb_document.
 *
 * A change is a transaction that locks the row. One that is followed increments the generation of
 * the documents of its workspace first, whose lock makes generations commit in their order. */
#pragma once

#include "store/postgres/database.h"
#include "workspace/documents.h"

struct pg_documents {
    struct document_table table;
    struct database *db; /* borrowed; open when the table is used */
};

void pg_documents_init(struct pg_documents *d, struct database *db);
