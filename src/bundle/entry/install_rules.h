/* install_rules.h - which bundle an admin of a workspace may install without the server's owner.
 *
 * An entry can name a program or a file of the machine, set variables and headers, and open the
 * sandbox: that is for the owner of the server. Others install what comes from the registry or
 * lives at a URL, as far as the setting allowInstall (globs of package names and URLs) says. The
 * one place for this question: HTTP, imports and nb__manage_bundle all ask here. */
#pragma once

#include "base/err.h"
#include "base/json/json_decode.h"

enum install_rights {
    INSTALL_AS_ADMIN,   /* of a workspace */
    INSTALL_AS_OWNER,   /* of the server, over the network */
    INSTALL_ON_MACHINE, /* the account that runs nb: everything */
};

/* allowed: of the settings; an admin may install what it lists and nothing else, so nothing when
 * it is not set. -EPERM with a message for people. */
int install_check(const struct json *entry, enum install_rights rights,
                  const struct json_strs *allowed, struct err *e);

/* Rights that the key of an entry needs. */
enum install_rights install_key_rights(str key);
