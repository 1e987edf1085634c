/* event_members.h - asserts that an event has the members of its row in bus/vocabulary.h. */
#pragma once

#include "base/json/json.h"
#include "bus/vocabulary.h"
#include "support/unit.h"

static inline bool event_may_have(const char *members, str name)
{
    for (str rest = str_from(members), word; str_split(&rest, ' ', &word);) {
        bool is_optional = str_ends(word, STR("?"));
        if (str_eq(str_slice(word, 0, word.n - is_optional), name))
            return true;
    }
    return false;
}

static inline void assert_event_members(const struct json *event)
{
    str type = json_get_string(event, "type");
    enum event_type t = event_type_of(type);
    if (t == EV_UNKNOWN)
        fail_msg("'%.*s' is not in the vocabulary", STR_ARG(type));
    const char *members = EVENT_KINDS[t].members;
    for (uint32_t i = 0; i < event->len; i++) {
        str name = event->members[i].key;
        bool is_head = str_eq(name, STR("type")) || str_eq(name, STR("ts"));
        if (!is_head && !event_may_have(members, name))
            fail_msg("%.*s has the member %.*s", STR_ARG(type), STR_ARG(name));
    }
    for (str rest = str_from(members), word; str_split(&rest, ' ', &word);)
        if (!str_ends(word, STR("?")) && !json_get_str(event, word))
            fail_msg("%.*s lacks %.*s", STR_ARG(type), STR_ARG(word));
}
