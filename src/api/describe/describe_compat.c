/* Other people's programs, which speak to nb as to a service of models: rows of the document. */
#include "api/bodies.h"
#include "api/describe/describe.h"

/* clang-format off */

const struct api_section DESCRIBE_COMPAT = {
    .tag = "Other programs",
    .about = "The agent for programs that were written for OpenAI or Anthropic, in the forms of these services. See docs/openai.md.",
    .operations = (const struct api_operation[]){
        {"POST", "/v1/chat/completions", "createCompletion", "Answer messages in the form of OpenAI chat completions",
         {{200, "application/json", "ChatCompletion", NULL}, {200, "text/event-stream", NULL, NULL}},
         .about = "With `stream`, chunks until [DONE].", .flags = API_BODY_OTHER_KEYS, .body = API_COMPAT_CHAT_FIELDS, .errors = "402 404 409 501 502 503 507", .error_shape = "OpenaiError"},
        {"POST", "/v1/responses", "createResponse", "Answer messages in the form of OpenAI responses",
         {{200, "application/json", "OpenaiResponse", NULL}, {200, "text/event-stream", NULL, NULL}},
         .about = "With `stream`, events until response.completed, response.incomplete or response.failed.", .flags = API_BODY_OTHER_KEYS, .body = API_COMPAT_RESPONSES_FIELDS,
         .errors = "402 404 409 501 502 503 507", .error_shape = "OpenaiError"},
        {"GET", "/v1/responses/:response", "getResponse", "Read an answer that was given before",
         {{200, "application/json", "OpenaiResponse", NULL}},
         .about = "For everybody who may see its conversation. Made from the log: texts of several steps are joined by blank lines.", .errors = "409", .error_shape = "OpenaiError"},
        {"POST", "/v1/messages", "createMessage", "Answer messages in the form of Anthropic messages",
         {{200, "application/json", "AnthropicMessage", NULL}, {200, "text/event-stream", NULL, NULL}},
         .about = "With `stream`, events until message_stop or error.", .flags = API_BODY_OTHER_KEYS, .body = API_COMPAT_MESSAGES_FIELDS, .errors = "402 404 409 501 502 503 507", .error_shape = "AnthropicError"},
        {0}},
    .models = (const struct api_model[]){
        {"ChatCompletion", "An answer in the form of OpenAI chat completions.", MEMBERS(
            {"id", "string", NULL}, {"object", "'chat.completion'", NULL}, {"created", "integer", "Seconds since 1970."}, {"model", "string", NULL},
            {"system_fingerprint", "string", NULL}, {"choices", "CompletionChoice[]", "Always one."}, {"usage", "CompletionUsage", NULL})},
        {"CompletionChoice", "The answer.", MEMBERS(
            {"index", "integer", NULL}, {"message", "CompletionMessage", NULL}, {"logprobs", "null", NULL}, {"finish_reason", "'stop'|'length'|'tool_calls'|'content_filter'", NULL})},
        {"CompletionMessage", "The message of the assistant.", MEMBERS(
            {"role", "'assistant'", NULL}, {"content", "string|null", NULL}, {"refusal", "null", NULL}, {"tool_calls?", "CompletionCall[]", "Calls that the program executes."})},
        {"CompletionCall", "A call that the program executes.", MEMBERS({"id", "string", NULL}, {"type", "'function'", NULL}, {"function", "CompletionFunction", NULL})},
        {"CompletionFunction", "The function of a call.", MEMBERS({"name", "string", NULL}, {"arguments", "string", "JSON."})},
        {"CompletionUsage", "Tokens of the whole run.", MEMBERS(
            {"prompt_tokens", "integer", NULL}, {"completion_tokens", "integer", NULL}, {"total_tokens", "integer", NULL}, {"prompt_tokens_details", "{integer}", NULL})},
        {"OpenaiResponse", "An answer in the form of OpenAI responses.", MEMBERS(
            {"id", "string", "For `previous_response_id`."}, {"object", "'response'", NULL}, {"created_at", "integer", "Seconds since 1970."},
            {"status", "'completed'|'incomplete'|'cancelled'|'failed'", NULL}, {"model", "string", NULL}, {"conversation", "ConversationReference", NULL}, {"previous_response_id", "string|null", NULL},
            {"store", "boolean", NULL}, {"instructions", "null", NULL}, {"max_output_tokens", "null", NULL}, {"parallel_tool_calls", "boolean", NULL}, {"temperature", "null", NULL},
            {"top_p", "null", NULL}, {"tool_choice", "string", NULL}, {"tools", "any[]", "Always empty."}, {"metadata", "object", "Always empty."}, {"error", "ResponseError|null", "Of a run that failed."},
            {"incomplete_details", "IncompleteDetails|null", NULL}, {"output", "ResponseItem[]", NULL}, {"usage", "ResponseUsage|null", NULL})},
        {"ResponseError", "Why a run failed.", MEMBERS({"code", "string", NULL}, {"message", "string", NULL})},
        {"ConversationReference", "A conversation by id.", MEMBERS({"id", "string", NULL})},
        {"IncompleteDetails", "Why an answer is not complete.", MEMBERS({"reason", "'max_output_tokens'|'content_filter'", NULL})},
        {"ResponseItem", "An item of the output: a message, a call that the program executes (function_call), or one that nb has executed (mcp_call). Other members depend on the type.", MEMBERS(
            {"type", "'message'|'function_call'|'mcp_call'", NULL}, {"id", "string", NULL}, {"status", "string", NULL}, {"role?", "'assistant'", NULL},
            {"content?", "ResponseText[]", NULL}, {"call_id?", "string", NULL}, {"name?", "string", NULL}, {"arguments?", "string", "JSON."}, {"server_label?", "string", "The app."},
            {"output?", "string|null", NULL}, {"error?", "string|null", NULL}, {"approval_request_id?", "null", NULL})},
        {"ResponseText", "The text of a message.", MEMBERS({"type", "'output_text'", NULL}, {"text", "string", NULL}, {"annotations", "any[]", NULL}, {"logprobs", "any[]", NULL})},
        {"ResponseUsage", "Tokens of the whole run.", MEMBERS(
            {"input_tokens", "integer", NULL}, {"input_tokens_details", "{integer}", NULL}, {"output_tokens", "integer", NULL}, {"output_tokens_details", "{integer}", NULL},
            {"total_tokens", "integer", NULL})},
        {"AnthropicMessage", "An answer in the form of Anthropic messages.", MEMBERS(
            {"id", "string", NULL}, {"type", "'message'", NULL}, {"role", "'assistant'", NULL}, {"model", "string", NULL}, {"content", "AnthropicBlock[]", NULL},
            {"stop_reason", "'end_turn'|'max_tokens'|'tool_use'|'refusal'", NULL}, {"stop_sequence", "null", NULL}, {"usage", "AnthropicUsage", NULL})},
        {"AnthropicBlock", "A text, or a call that the program executes.", MEMBERS(
            {"type", "'text'|'tool_use'", NULL}, {"text?", "string", NULL}, {"id?", "string", NULL}, {"name?", "string", NULL}, {"input?", "any", NULL})},
        {"AnthropicUsage", "Tokens of the whole run.", MEMBERS(
            {"input_tokens", "integer", NULL}, {"output_tokens", "integer", NULL}, {"cache_creation_input_tokens", "integer", NULL}, {"cache_read_input_tokens", "integer", NULL})},
        {"OpenaiError", "Why a request failed, in the form of OpenAI.", MEMBERS({"error", "OpenaiProblem", NULL})},
        {"OpenaiProblem", "What is wrong.", MEMBERS(
            {"message", "string", "A sentence for people."}, {"type", "string", NULL}, {"param", "null", NULL}, {"code", "string", "The same codes as in Error."})},
        {"AnthropicError", "Why a request failed, in the form of Anthropic.", MEMBERS({"type", "'error'", NULL}, {"error", "AnthropicProblem", NULL})},
        {"AnthropicProblem", "What is wrong.", MEMBERS({"type", "string", NULL}, {"message", "string", "A sentence for people."}, {"code", "string", "The same codes as in Error."})},
        {0}},
};
