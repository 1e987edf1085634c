#include "llm/llm.h"
#include "net/fetch.h"
#include "support/unit.h"
#include "unit/llm/script_server.h"

enum { WAIT_MS = 60000 };

#define JSON_ANSWER(body) "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" body

struct world {
    struct loop *loop;
    struct fetcher *fetcher;
    struct script_server *server;
    struct llm *llm;
    bool is_over;
};

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof *w);
    w->loop = loop_new(NULL);
    w->fetcher = fetcher_new(w->loop);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    llm_free(w->llm);
    fetcher_free(w->fetcher);
    if (w->server)
        script_server_free(w->server);
    loop_free(w->loop);
    free(w);
    return 0;
}

static void on_over(void *ctx)
{
    ((struct world *)ctx)->is_over = true;
}

/* Ollama is looked for at the server's port, or at one where nobody listens. */
static void probe(struct world *w, struct llm_conf conf)
{
    char host[64];
    snprintf(host, sizeof host, "127.0.0.1:%d", w->server ? w->server->port : 1);
    conf.ollama_host = str_from(host);
    w->llm = llm_new(w->loop, w->fetcher, &conf, NULL, NULL);
    assert_non_null(w->llm);
    llm_probe(w->llm, on_over, w);
    assert_false(w->is_over);
}

TEST_WITH(finds_a_model_with_tools, setup, teardown)
{
    static const struct script_step STEPS[] = {
        {JSON_ANSWER("{\"version\":\"0.30\"}")},
        {JSON_ANSWER("{\"models\":[{\"name\":\"embed:1b\"},{\"name\":\"qwen3:8b\"}]}")},
        {JSON_ANSWER("{\"capabilities\":[\"embedding\"]}")},
        {JSON_ANSWER("{\"capabilities\":[\"completion\",\"tools\"]}")},
    };
    struct world *w = *state;
    str why;
    w->server = script_server_new(STEPS, 4);
    probe(w, (struct llm_conf){0});
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
    assert_true(str_eq(llm_default_model(w->llm, &why), STR("ollama:qwen3:8b")));
    assert_true(str_find(why, STR("ollama"), 0) >= 0);
    assert_true(str_starts(script_request(w->server, 0), STR("GET /api/version ")));
    assert_true(str_starts(script_request(w->server, 2), STR("POST /api/show ")));
    struct llm_model_info info;
    assert_true(llm_model_info(w->llm, STR("ollama:qwen3:8b"), &info));
    assert_true(info.has_price && info.price_in == 0);
}

/* Somebody asks although a model is configured: what is found can be named, nothing else changes.
 */
TEST_WITH(a_look_finds_all_and_changes_no_default, setup, teardown)
{
    static const struct script_step STEPS[] = {
        {JSON_ANSWER("{\"version\":\"0.30\"}")},
        {JSON_ANSWER("{\"models\":[{\"name\":\"gemma:2b\"},{\"name\":\"qwen3:8b\"}]}")},
        {JSON_ANSWER("{\"capabilities\":[\"completion\",\"tools\"]}")},
    };
    struct world *w = *state;
    char host[64];
    struct arena a;
    size_t n, hits = 0;
    w->server = script_server_new(STEPS, 3);
    snprintf(host, sizeof host, "127.0.0.1:%d", w->server->port);
    struct llm_conf conf = {.default_model = STR("demo:demo"), .ollama_host = str_from(host)};
    w->llm = llm_new(w->loop, w->fetcher, &conf, NULL, NULL);
    llm_look(w->llm, on_over, w);
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
    assert_true(str_eq(llm_default_model(w->llm, NULL), STR("demo:demo")));
    arena_init(&a);
    const str *names = llm_known_models(w->llm, &a, &n);
    for (size_t i = 0; i < n; i++)
        hits +=
            str_eq(names[i], STR("ollama:gemma:2b")) || str_eq(names[i], STR("ollama:qwen3:8b"));
    assert_int_equal(hits, 2);
    arena_done(&a);
    llm_set_default(w->llm, STR("ollama:qwen3:8b"));
    assert_true(str_eq(llm_default_model(w->llm, NULL), STR("ollama:qwen3:8b")));
}

TEST_WITH(a_look_can_be_stopped, setup, teardown)
{
    static const struct script_step STEPS[] = {{"", SCRIPT_HANG, false}};
    struct world *w = *state;
    w->server = script_server_new(STEPS, 1);
    probe(w, (struct llm_conf){0});
    llm_look(w->llm, on_over, w);
    llm_stop_look(w->llm);
    assert_false(loop_run_until(w->loop, &w->is_over, 400));
}

TEST_WITH(a_stranger_is_not_asked_further, setup, teardown)
{
    static const struct script_step STEPS[] = {{JSON_ANSWER("{\"hello\":\"world\"}")}};
    struct world *w = *state;
    w->server = script_server_new(STEPS, 1);
    probe(w, (struct llm_conf){0});
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
    assert_int_equal(script_played(w->server), 1);
    assert_false(str_starts(llm_default_model(w->llm, NULL), STR("ollama")));
}

TEST_WITH(silence_costs_a_moment, setup, teardown)
{
    static const struct script_step STEPS[] = {{"", SCRIPT_HANG, false}};
    struct world *w = *state;
    w->server = script_server_new(STEPS, 1);
    probe(w, (struct llm_conf){0});
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
}

TEST_WITH(nothing_is_asked_when_a_model_is_configured, setup, teardown)
{
    static const struct script_step STEPS[] = {{"", SCRIPT_HANG, false}};
    struct world *w = *state;
    w->server = script_server_new(STEPS, 1);
    probe(w, (struct llm_conf){.default_model = STR("demo:demo")});
    assert_true(loop_run_until(w->loop, &w->is_over, WAIT_MS));
    assert_int_equal(script_played(w->server), 0);
}

TEST_WITH(freeing_ends_it, setup, teardown)
{
    static const struct script_step STEPS[] = {{"", SCRIPT_HANG, false}};
    struct world *w = *state;
    bool never = false;
    w->server = script_server_new(STEPS, 1);
    probe(w, (struct llm_conf){0});
    loop_run_until(w->loop, &never, 20);
    llm_free(w->llm);
    w->llm = NULL;
    loop_run_until(w->loop, &never, 20);
    assert_false(w->is_over);
}
