/* oauth_token.h - the token endpoint: shared by oauth_login.c and oauth_refresh.c only. */
#pragma once

#include "bundle/oauth/oauth.h"
#include "net/fetch.h"

#define OAUTH_FORM_MAX (64u * 1024)

/* Sends the form, with the client's credentials and the resource added. */
struct fetch_whole *oauth_token_ask(struct loop *l, struct fetcher *f, unsigned fetch_flags,
                                    const struct oauth_state *s, struct buf *form,
                                    fetch_whole_done done, void *ctx);
/* Stores the response in `s`: members that it does not have stay. Strings live in the arena.
 * -EACCES: the server refuses; -EREMOTEIO: the failure is temporary. */
int oauth_token_take(struct arena *a, int status, str body, struct oauth_state *s, struct err *e);
