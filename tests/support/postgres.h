/* postgres.h - a real PostgreSQL for a unit test (postgres.sh), with empty tables of nb. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/database/pg_schema.h"
#include "store/postgres/database.h"
#include "support/unit.h"

struct postgres {
    pid_t pid;
    int orders; /* the script ends when this is closed */
    FILE *answers;
    char url[256];
};

static inline void postgres_read_line(struct postgres *p, char *ret, size_t size)
{
    if (!fgets(ret, (int)size, p->answers))
        fail_msg("PostgreSQL cannot be started; is the package postgresql installed?");
    ret[strcspn(ret, "\n")] = 0;
}

static inline void postgres_start(struct postgres *p)
{
    int to[2], from[2];
    const char *source = getenv("SRC_DIR");
    char script[1024];
    (void)snprintf(script, sizeof script, "%s/tests/support/postgres.sh", source ? source : ".");
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    p->pid = fork();
    assert_true(p->pid >= 0);
    if (p->pid == 0) {
        (void)dup2(to[0], 0);
        (void)dup2(from[1], 1);
        execl("/bin/sh", "sh", script, "fsync=off", (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    p->orders = to[1];
    p->answers = fdopen(from[0], "r");
    postgres_read_line(p, p->url, sizeof p->url);
}

/* "stop", "kill", "start": waits until it is done. */
static inline void postgres_order(struct postgres *p, const char *order)
{
    char answer[32];
    assert_true(dprintf(p->orders, "%s\n", order) > 0);
    postgres_read_line(p, answer, sizeof answer);
    assert_string_equal(answer, order);
}

static inline void postgres_stop(struct postgres *p)
{
    close(p->orders);
    (void)waitpid(p->pid, NULL, 0);
    (void)fclose(p->answers);
}

static inline void postgres_sql(const char *url, const char *sql)
{
    struct database *db = database_new(NULL, NULL, url);
    struct pg_conn *c = NULL;
    struct err e = {0};
    if (database_connect(db, &c, &e) < 0)
        fail_msg("cannot connect: %s", e.msg);
    struct pg_query q = {.sql = sql, .is_once = true};
    if (pg_conn_run(c, &q, 1, &e) < 0)
        fail_msg("%s: %s", sql, e.msg);
    pg_clear(c, &q, 1);
    pg_conn_close(c);
    database_free(db);
}

static inline void postgres_init(const char *url)
{
    struct database *db = database_new(NULL, NULL, url);
    struct pg_conn *c = NULL;
    struct err e = {0};
    int applied;
    if (database_connect(db, &c, &e) < 0 || pg_schema_migrate(c, &applied, &e) < 0)
        fail_msg("cannot make the tables: %s", e.msg);
    pg_conn_close(c);
    database_free(db);
}

static inline void postgres_clear(const char *url)
{
    postgres_sql(
        url, "TRUNCATE nb_conversation, nb_event, nb_text, nb_blob, nb_blob_use, nb_deleted_usage, "
             "nb_token_use, nb_window, nb_session");
}
