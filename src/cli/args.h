/* args.h - parses command lines by table.
 *
 * "--name value", "--name=value", "-n value", "-nvalue"; switches may be combined ("-jq"). "--"
 * ends the options. Values are written into the caller's struct. */
#pragma once

#include "base/err.h"

enum arg_kind {
    ARG_FLAG,   /* bool */
    ARG_STRING, /* const char * */
    ARG_INT,    /* int, 0 or more */
    ARG_LIST,   /* struct arg_list */
};

#define ARG_LIST_MAX 64

struct arg_list {
    const char *items[ARG_LIST_MAX];
    size_t len;
};

struct arg {
    const char *name; /* without the dashes */
    char letter;      /* 0 = none */
    enum arg_kind kind;
    const char *value_name, *help; /* text for --help */
    size_t offset;                 /* of its value; set by the frame for options of a command */
    const char *choices;           /* of ARG_STRING: "text, json"; NULL = any value */
};

union arg_value { /* of one row */
    bool flag;
    const char *text; /* NULL = not given */
    int number;
    struct arg_list list;
};

/* Parses argv[0..argc). Operands are moved to the front; *ret_n is their number. With
 * stop_at_operand, everything from the first operand on is left unchanged. Tables end with {0}.
 * -EINVAL with a message for the user. */
int args_parse(const struct arg *table, void *into, int argc, char **argv, bool stop_at_operand,
               int *ret_n, struct err *e);

/* Prints the option lines of a help text. */
void args_print(const struct arg *table, FILE *out);
