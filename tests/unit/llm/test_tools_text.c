#include "llm/call/llm_impl.h"
#include "support/unit.h"

TEST(finds_the_tool_that_an_error_names)
{
    static const struct {
        const char *text;
        int index; /* -1 = none */
    } CASES[] = {
        {"tools.3.custom.input_schema: no", 3},
        {"Invalid 'tools[12].function.parameters'", 12},
        {"* GenerateContentRequest.tools[0].function_declarations[7].parameters: no", 7},
        {"Invalid value at 'tools[0].functionDeclarations[2]'", 2},
        {"tools: Tool names must be unique.", -1},
        {"tools[x]", -1},
        {"tools.99999999999999999999999", -1},
        {"function_declarations", -1},
        {"", -1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        size_t index = 99;
        bool is_named = tools_text_names_bad(str_from(CASES[i].text), &index);
        assert_int_equal(is_named ? (int)index : -1, CASES[i].index);
    }
}
