/* consent_limit.h - permissions that are limited to one conversation, or to some commands.
 *
 * A limited permission is one text, stored where the name of the tool is stored:
 * "bash__bash_exec(git status *)@conv_...". Names of tools have neither '(' nor '@', so code that
 * knows no limits never matches such a text.
 *
 * Words limit a shell tool to commands that begin with them. The rest of the command must not
 * contain anything with which a shell starts a second command, and the first word must not be a
 * program that runs others: such a command is asked about each time. Pure. */
#pragma once

#include "base/arena.h"
#include "base/json/json.h"

#define CONSENT_WORDS_MAX 80 /* bytes */

struct consent_call {
    str tool, conversation_id;
    const struct json *args; /* NULL = unknown: no permission that is limited to words matches */
};

/* The words that are proposed for a call: the program, and its subcommand where there seems to be
 * one. Empty = no words would fit. Borrows. */
str consent_words_of(const struct json *args);
/* Can these words limit a permission for a call with these arguments? */
bool consent_words_fit(str words, const struct json *args);

/* words and conversation_id may be empty: no such limit. */
str consent_limited(struct arena *a, str tool, str words, str conversation_id);
bool consent_is_limited(str text);
bool consent_is_of_conversation(str text);
/* False for a text without a limit. */
bool consent_limit_matches(str text, const struct consent_call *call);
