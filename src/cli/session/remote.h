/* remote.h - the server of --server: its address, and the token for it.
 *
 * A token is sent to the address that it was stored for and nowhere else: over TLS with a verified
 * certificate, or to this machine. It comes from a file or from the terminal, never from the
 * command line. Blocking. */
#pragma once

#include "config/config.h"

/* "HTTPS://Example.com/nb/" becomes "https://example.com/nb". -EINVAL: not an address of a server,
 * or http to another machine without is_insecure. */
int remote_url(struct arena *a, const char *typed, bool is_insecure, const char **ret,
               struct err *e);
/* Whether it can be a header's value. */
bool remote_token_is_valid(str token);
/* Sets c->remote, and c->workspace if it is NULL and the login has one. token_file NULL: the token
 * that nb login has stored. */
int remote_use(struct config *c, const char *typed, const char *token_file, bool is_insecure,
               struct err *e);
