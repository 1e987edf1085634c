/* Small texts that models and settings write: arithmetic, globs, dates, networks. None of them
 * takes long or reads beyond its end; a date that is understood is written back as the same moment.
 */
#include <assert.h>
#include <math.h>

#include "base/bytes/ip.h"
#include "base/clock.h"
#include "base/text/glob.h"
#include "builtin/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_date(str text)
{
    static const int64_t FIRST = -62167219200000, LAST = 253402300799999; /* years 0 to 9999 */
    char written[CLOCK_ISO_LEN + 1];
    int64_t ms, again;
    if (clock_parse_iso(text, &ms) < 0 || ms < FIRST || ms > LAST)
        return;
    clock_iso(ms, written);
    assert(clock_parse_iso(str_from(written), &again) == 0 && again == ms);
}

static void check_network(str text)
{
    struct ip_block b;
    if (ip_block_parse(text, &b) < 0)
        return;
    assert(str_find_char(text, '\0') < 0);
    uint8_t own[IP_LEN];
    str address = text;
    (void)str_split(&text, '/', &address);
    if (ip_parse(address, own) == 0)
        assert(ip_block_has(&b, own));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str in = str_make((const char *)data, size), first = STR_NONE;
    double v;
    struct err e = {0};
    if (size > 2 * EXPR_BYTES_MAX)
        return 0;
    if (expr_eval(in, &v, &e) == 0)
        assert(!isnan(v));
    else
        assert(e.msg[0]);
    check_date(in);
    check_network(in);
    assert(glob_match(STR("*"), in));
    (void)str_split(&in, '\n', &first);
    bool is_plain = str_find_char(first, '*') < 0;
    assert(!is_plain || glob_match(first, in) == str_eq(first, in));
    return 0;
}
