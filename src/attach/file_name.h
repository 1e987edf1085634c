/* file_name.h - the name of a file as people see it: text for display, never part of a path. Pure.
 */
#pragma once

#include "base/arena.h"

#define FILE_NAME_MAX 200u /* bytes */

/* The last component of the name, without control characters and without characters that change the
 * direction of text; "file" when nothing is left. Invalid UTF-8 is replaced. */
str file_name_clean(struct arena *a, str given);
/* The name in a header, where it is percent-encoded UTF-8; a name that is not is used as it is. */
str file_name_decode(struct arena *a, str given);

/* The value of Content-Disposition for a download under this name (RFC 6266). */
str file_name_disposition(struct arena *a, str name);
