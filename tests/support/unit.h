/* unit.h - cmocka with the headers it forgets to include, in the order it needs.
 *
 * Unit tests include "support/unit.h" instead of <cmocka.h>: clang-format sorts includes,
 * and <cmocka.h> does not compile before <stdarg.h>. */
#pragma once

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
