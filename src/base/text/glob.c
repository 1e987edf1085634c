#include "base/text/glob.h"

/* A later `*` makes all earlier choices irrelevant, so only the last one needs to be
 * remembered to go back to. */
bool glob_match(str pattern, str s)
{
    size_t p = 0, at = 0;
    bool has_star = false;
    size_t after_star = 0, star_at = 0;
    while (at < s.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            has_star = true;
            after_star = ++p;
            star_at = at;
        } else if (p < pattern.n && pattern.p[p] == s.p[at]) {
            p++;
            at++;
        } else if (has_star) {
            p = after_star;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}
