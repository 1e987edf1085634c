/* conversations.h - shared by the commands of `nb conversations`. */
#pragma once

#include "cli/command.h"
#include "cli/session/client.h"

/* The id that the user typed; "latest" is the conversation that changed last. Empty after printing
 * an error. */
str conv_id(struct cmd *x, const char *typed);
/* "/v1/conversations/<id><rest>" */
str conv_path(struct cmd *x, str id, const char *rest);
/* Sends a request about the conversation that the user typed; NULL after printing an error. */
struct json *conv_ask(struct cmd *x, const char *typed, const char *method, const char *rest,
                      const struct json *body);

/* Title, or the beginning of the first message; safe to print. */
str conv_label(struct cmd *x, const struct json *conv);
/* The name of a user, else the e-mail address, else the id; safe to print. */
str conv_person(struct cmd *x, str user_id);
str conv_ago(struct cmd *x, str iso);
/* Asks for a list or a search until the server has read every log. NULL: an error was printed. */
struct json *conv_ask_all(struct cmd *x, str path, const char *subject);
str conv_cost(struct cmd *x, const struct json *usd); /* "$0.0123", or "?" for null */
/* Cells: the cost of a row, with ">" when `unpriced` of its calls have no price. */
str conv_known_cost(struct cmd *x, const struct json *row, const char *unpriced);

extern const struct command CONV_LIST, CONV_SHOW, CONV_SEARCH, CONV_STATS, CONV_FORK, CONV_RENAME,
    CONV_PROMOTE, CONV_DELETE, CONV_RESTORE, CONV_NOTE, CONV_EXPORT, CONV_IMPORT, CONV_CONVERT,
    CONV_VERIFY, CONV_REPAIR, CONV_SHARE_WITH, CONV_UNSHARE, CONV_PARTICIPANTS, CONV_LINK,
    CONV_LINKS, CONV_UNLINK;
