#include "api/views/layout.h"
#include "support/unit.h"

static const struct layout_facts LOCAL = {
    .host = STR_INIT("127.0.0.1:27247"),
    .page_origin = STR_INIT("http://127.0.0.1:27247"),
    .port = 27247,
    .apps_port = 27248,
};

static void expect(const struct layout_facts *f, const char *origin, const char *base)
{
    struct arena a;
    arena_init(&a);
    struct view_layout l = layout_choose(&a, f);
    assert_int_equal(l.is_apart, *origin != '\0');
    assert_true(str_eq(l.origin, str_from(origin)));
    assert_true(str_eq(l.base, str_from(base)));
    assert_true(str_eq(l.page_origin, f->page_origin));
    arena_done(&a);
}

static struct layout_facts at(str host, str page_origin)
{
    struct layout_facts f = LOCAL;
    f.host = host;
    f.page_origin = page_origin;
    return f;
}

TEST(a_server_that_is_reached_directly_uses_its_second_port)
{
    struct layout_facts f = LOCAL;
    expect(&f, "http://127.0.0.1:27248", "http://127.0.0.1:27248");
    f = at(STR("localhost:27247"), STR("http://localhost:27247"));
    expect(&f, "http://localhost:27248", "http://localhost:27248");
    f = at(STR("192.168.1.7:27247"), STR("http://192.168.1.7:27247"));
    expect(&f, "http://192.168.1.7:27248", "http://192.168.1.7:27248");
}

TEST(with_a_certificate_of_its_own_a_name_leads_to_this_server)
{
    struct layout_facts f = at(STR("nb.example.com:27247"), STR("https://nb.example.com:27247"));
    f.is_tls = true;
    expect(&f, "https://nb.example.com:27248", "https://nb.example.com:27248");
    f = at(STR("nb.example.com"), STR("https://nb.example.com"));
    f.is_tls = true;
    f.port = 443;
    f.apps_port = 8444;
    expect(&f, "https://nb.example.com:8444", "https://nb.example.com:8444");
    f.is_proxied = true;
    expect(&f, "", "https://nb.example.com");
    f = at(STR("[::1]:27247"), STR("https://[::1]:27247")); /* a policy cannot name it */
    f.is_tls = true;
    expect(&f, "", "https://[::1]:27247");
}

TEST(an_origin_of_the_settings_is_used_everywhere)
{
    struct layout_facts f = at(STR("nb.example.com"), STR("https://nb.example.com"));
    f.is_proxied = true;
    f.base_path = STR("/nb");
    f.apps_origin = STR("https://apps.example.com");
    expect(&f, "https://apps.example.com", "https://apps.example.com");
    f.apps_origin = STR("https://NB.example.com");
    expect(&f, "", "https://nb.example.com/nb"); /* the page's own origin is not another one */
}

TEST(behind_a_proxy_there_is_one_origin)
{
    struct layout_facts f = LOCAL;
    f.is_proxied = true;
    expect(&f, "", "http://127.0.0.1:27247");
    f = LOCAL;
    f.base_path = STR("/nb");
    expect(&f, "", "http://127.0.0.1:27247/nb");
    f = at(STR("nb.example.com"), STR("https://nb.example.com"));
    expect(&f, "", "https://nb.example.com");
}

TEST(a_mapped_port_or_a_name_means_that_the_second_port_may_lead_elsewhere)
{
    struct layout_facts f = at(STR("127.0.0.1:8080"), STR("http://127.0.0.1:8080"));
    expect(&f, "", "http://127.0.0.1:8080");
    f = at(STR("box:27247"), STR("http://box:27247"));
    expect(&f, "", "http://box:27247");
    f = at(STR("[::1]:27247"), STR("http://[::1]:27247"));
    expect(&f, "", "http://[::1]:27247"); /* no policy can name it */
    f = at(STR("127.0.0.1:x"), STR("http://127.0.0.1"));
    expect(&f, "", "http://127.0.0.1");
    f = at(STR(""), STR(""));
    expect(&f, "", "");
}

TEST(no_second_listener_and_the_wish_of_the_page_mean_one_origin)
{
    struct layout_facts f = LOCAL;
    f.apps_port = 0;
    expect(&f, "", "http://127.0.0.1:27247");
    f = LOCAL;
    f.is_single_wanted = true;
    f.apps_origin = STR("https://apps.example.com");
    expect(&f, "", "http://127.0.0.1:27247");
}
