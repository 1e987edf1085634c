#include "bus/vocabulary.h"
#include "support/unit.h"

TEST(every_type_has_a_name_of_its_own)
{
    for (enum event_type t = EV_UNKNOWN + 1; t < EV_END; t++) {
        assert_true(event_name(t).n > 0);
        for (enum event_type other = EV_UNKNOWN + 1; other < t; other++)
            assert_false(str_eq(event_name(t), event_name(other)));
    }
}

TEST(only_stored_types_are_found_by_name)
{
    for (enum event_type t = EV_UNKNOWN + 1; t < EV_END; t++)
        assert_int_equal(event_type_of(event_name(t)), t < EV_STORED_END ? t : EV_UNKNOWN);
    assert_int_equal(event_type_of(STR("user.messag")), EV_UNKNOWN);
    assert_int_equal(event_type_of(STR("llm.done")), EV_UNKNOWN);
    assert_int_equal(event_type_of(STR("")), EV_UNKNOWN);
}

TEST(clients_receive_only_what_has_a_name_for_them)
{
    assert_true(str_eq(event_shown_as(EV_LLM_RESPONSE), STR("llm.done")));
    assert_true(str_eq(event_shown_as(EV_TITLE), STR("conversation.title")));
    static const enum event_type HIDDEN[] = {EV_UNKNOWN, EV_LLM_REQUEST, EV_AUX_USAGE,
                                             EV_LEGACY_MESSAGE};
    for (size_t i = 0; i < ARRAY_LEN(HIDDEN); i++)
        assert_int_equal(event_shown_as(HIDDEN[i]).n, 0);
}
