/* banned.h - functions that this project does not use, turned into compile errors.
 *
 * Included by str.h, so every file has it. The libc headers come first: a macro must
 * never meet the declaration it hides. Use str_*, buf_*, parse_* and pool jobs instead. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NB_BANNED(func) sorry_##func##_is_banned

#undef strcpy
#define strcpy(...) NB_BANNED(strcpy)
#undef strcat
#define strcat(...) NB_BANNED(strcat)
#undef strncpy
#define strncpy(...) NB_BANNED(strncpy)
#undef strncat
#define strncat(...) NB_BANNED(strncat)
#undef strtok
#define strtok(...) NB_BANNED(strtok)
#undef sprintf
#define sprintf(...) NB_BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) NB_BANNED(vsprintf)
#undef atoi
#define atoi(...) NB_BANNED(atoi)
#undef atol
#define atol(...) NB_BANNED(atol)
#undef gets
#define gets(...) NB_BANNED(gets)
#undef alloca
#define alloca(...) NB_BANNED(alloca)
#undef system
#define system(...) NB_BANNED(system)
#undef popen
#define popen(...) NB_BANNED(popen)
#undef localtime
#define localtime(...) NB_BANNED(localtime)
#undef gmtime
#define gmtime(...) NB_BANNED(gmtime)
#undef ctime
#define ctime(...) NB_BANNED(ctime)
#undef asctime
#define asctime(...) NB_BANNED(asctime)
#undef rand
#define rand(...) NB_BANNED(rand)
#undef srand
#define srand(...) NB_BANNED(srand)
