/* token.h - secrets that are random text: API tokens and the values of cookies.
 *
 * 256 random bits as base64url. Only their SHA-256 is ever stored: it needs no salt and no slow
 * hash, because there is nothing to guess. Pure. */
#pragma once

#include "base/bytes/hash.h"

#define TOKEN_PREFIX "nb_"
#define TOKEN_CHARS  46 /* of an API token, with the prefix */
#define SECRET_CHARS 43
#define TOKEN_MAX    (TOKEN_CHARS + 1)

void token_make(char ret[TOKEN_MAX]);
void secret_make(char ret[SECRET_CHARS + 1]);

/* Whether it has the form of an API token. */
bool token_looks_right(str value);
