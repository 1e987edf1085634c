/* peer_jansson.h - jansson beside our own json.h, for tests and benchmarks that compare.
 *
 * The two headers share a few names. jansson's are renamed away while its header is read,
 * so of jansson use functions only: its json_is_* macros would expand to our constants. */
#pragma once

#define JSON_OBJECT PEER_JSON_OBJECT
#define JSON_ARRAY  PEER_JSON_ARRAY
#define JSON_STRING PEER_JSON_STRING
#define JSON_NULL   PEER_JSON_NULL
#define json_string peer_json_string
#define json_equal  peer_json_equal
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_NULL
#undef json_string
#undef json_equal
