/* schema_impl.h - what the parts of the JSON Schema validator share. */
#pragma once

#include "base/schema/schema.h"
#include "base/schema/schema_regex.h"

struct schema_path { /* on the stack, from the value up to the root */
    const struct schema_path *up;
    str key;      /* of an object member, when p is not NULL */
    size_t index; /* of an array element otherwise */
    size_t depth;
};

struct schema_run {
    const struct json *root; /* the whole schema document, for $ref */
    const char *root_name;
    unsigned steps, depth;
    bool gave_up; /* budget spent: the answer is "valid" */
    /* Above 0 the outcome of a subschema is only a question (anyOf, not, if ...). Then the
     * deepest failure is kept, which is most likely what the caller meant to send. */
    unsigned speculating;
    size_t guess_depth;
    struct err guess;
    struct err *error;
    struct regex_cache regexes;
};

/* One value against one (sub)schema. True when it fits. */
bool schema_check(struct schema_run *r, const struct json *schema, const struct json *value,
                  const struct schema_path *at);

/* The same as a question: leaves no error behind except a guess. */
bool schema_fits(struct schema_run *r, const struct json *schema, const struct json *value,
                 const struct schema_path *at);

/* Records why the value at this path does not fit. Returns false. */
bool schema_fail(struct schema_run *r, const struct schema_path *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

bool schema_spend(struct schema_run *r); /* one step; false when the budget is gone */

/* A search costs as many steps as its match limit may be worth. */
#define SCHEMA_REGEX_STEPS 100
enum regex_answer schema_matches(struct schema_run *r, str pattern, str s);

/* A keyword: `arg` is its value in `schema`. Keywords that concern other types of value
 * return true. */
typedef bool schema_keyword_fn(struct schema_run *r, const struct json *schema,
                               const struct json *arg, const struct json *value,
                               const struct schema_path *at);

schema_keyword_fn schema_type, schema_enum, schema_const;
schema_keyword_fn schema_minimum, schema_maximum, schema_exclusive_minimum,
    schema_exclusive_maximum, schema_multiple_of;
schema_keyword_fn schema_min_length, schema_max_length, schema_pattern;
schema_keyword_fn schema_min_items, schema_max_items, schema_unique_items, schema_items,
    schema_prefix_items, schema_additional_items, schema_contains;
schema_keyword_fn schema_properties, schema_pattern_properties, schema_additional_properties,
    schema_property_names, schema_required, schema_min_properties, schema_max_properties,
    schema_dependent_required, schema_dependent_schemas, schema_dependencies;
schema_keyword_fn schema_all_of, schema_any_of, schema_one_of, schema_not, schema_if, schema_ref;

/* The schema that `ref` ("#/$defs/x", "#", "#anchor") points to in the document, or NULL. */
const struct json *schema_resolve(struct schema_run *r, str ref);

static inline bool schema_is_number(const struct json *v)
{
    return v->type == JSON_INT || v->type == JSON_NUMBER;
}

bool schema_is_integer(const struct json *v); /* 1.0 is one */

/* The keyword's argument as a count; false when it is not a count: then ignore the keyword. */
bool schema_count(const struct json *arg, size_t *ret);
