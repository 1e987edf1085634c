/* nb openapi - prints the document of the API; the page's types are generated from it. */
#include "api/describe/document.h"
#include "cli/command.h"

static int run_openapi(struct cmd *x)
{
    struct buf out;
    buf_init(&out, API_DOCUMENT_MAX);
    document_write(&out, STR_NONE);
    buf_add_lit(&out, "\n");
    fwrite(out.p, 1, out.n, stdout);
    buf_done(&out);
    return EXIT_DONE;
}

const struct command CMD_OPENAPI = {
    .name = "openapi",
    .summary = "print the OpenAPI document of the API",
    .help = "Prints what a server serves at /v1/openapi.json: every route with its parameters,\n"
            "bodies and answers, as OpenAPI 3.1.\n",
    .run = run_openapi,
};
