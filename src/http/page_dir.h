/* page_dir.h - the files of the web page from a directory, for people who work on the page.
 *
 * The directory has what scripts/build-web writes. All of it is read into memory when it is opened,
 * and again when a file has changed and nothing more changes: a build in progress is not shown. The
 * table has two files more, with which pages at its root load themselves again then. Anybody who
 * reaches the server gets these files, so that only types of the web are read, no links are
 * followed, and names that begin with a dot are left out. Loop thread. */
#pragma once

#include "base/err.h"
#include "base/log.h"
#include "http/assets.h"
#include "loop/pool.h"

struct page_dir;

/* Blocking. -ENOENT: the directory does not contain a built page. dir and pool are borrowed. */
int page_dir_open(struct loop *l, struct pool *pool, struct logger *log, const char *dir,
                  struct page_dir **ret, struct err *e);
/* Valid until the loop continues. */
const struct asset_table *page_dir_table(const struct page_dir *p);
void page_dir_free(struct page_dir *p); /* before the pool; accepts NULL */
