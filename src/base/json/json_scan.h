/* json_scan.h - top-level fields of one JSON line, without building a tree.
 *
 * For hot scans over logs: finds where the values of an object's own keys begin and end,
 * skipping nested values by bracket and quote matching. It checks only what it needs to
 * find the ends of values: use json_parse for lines whose content matters. No allocation. */
#pragma once

#include "base/str.h"

struct json_scan {
    const char *at, *end;
    char close;    /* the bracket that ends the array or object */
    bool is_inner; /* ends at that bracket, not with the text */
    bool failed;   /* the line is not an object, or is broken before its end */
    str known;     /* text of an array or object that is skipped by comparison; may be set */
    bool is_known; /* the last value was that text */
};

void json_scan_init(struct json_scan *s, str line);

/* The next member: key without quotes (escapes left as they are) and the raw value text,
 * quotes included for strings. False at the end or on a broken line (s->failed). */
bool json_scan_next(struct json_scan *s, str *ret_key, str *ret_value);

/* The same for an array: the raw texts of its elements. */
void json_scan_array(struct json_scan *s, str text);
bool json_scan_element(struct json_scan *s, str *ret_value);

/* json_scan_next in two steps: the key, then its value. json_scan_enter instead of json_scan_value
 * iterates over the elements of an array without a scan to its end first; it returns false when
 * the value is not an array. json_scan_leave continues after that array. */
bool json_scan_key(struct json_scan *s, str *ret_key);
bool json_scan_value(struct json_scan *s, str *ret_value);
bool json_scan_enter(struct json_scan *s, struct json_scan *ret_elements);
void json_scan_leave(struct json_scan *s, struct json_scan *elements);

/* Raw value of the first top-level key whose raw text is `key`, or STR_NONE. The line is
 * read only as far as that. */
str json_scan_field(str line, str key);

/* The contents of a raw string value that has no escapes; STR_NONE otherwise. */
str json_scan_plain(str raw);
