/* install_rules.h - which bundles an admin of a workspace may install without the server's owner.
 *
 * An entry can name a program or a file of the machine, set variables and headers, and open the
 * sandbox: that is for the owner of the server. Others install packages of the registry and URLs,
 * as far as the setting allowInstall (globs of package names and URLs) allows. This is the only
 * place for this decision: HTTP, imports and nb__manage_bundle all use it. */
#pragma once

#include "base/err.h"
#include "base/json/json_decode.h"

enum install_rights {
    INSTALL_AS_ADMIN,   /* of a workspace */
    INSTALL_AS_OWNER,   /* of the server, over the network */
    INSTALL_ON_MACHINE, /* the account that runs nb: everything */
};

/* allowed: from the settings; an admin may install only what it lists, so nothing when it is not
 * set. -EPERM with a message for people. */
int install_check(const struct json *entry, enum install_rights rights,
                  const struct json_strs *allowed, struct err *e);

/* The rights that a key of an entry needs. */
enum install_rights install_key_rights(str key);
