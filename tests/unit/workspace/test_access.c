#include "support/unit.h"
#include "workspace/roster/access.h"

static str guests[] = {STR_INIT("owner"), STR_INIT("guest")};

static const struct conv_acl PRIVATE = {.owner_id = STR_INIT("owner"), .participants = {guests, 2}};
static const struct conv_acl SHARED = {
    .owner_id = STR_INIT("owner"), .is_shared = true, .participants = {guests, 2}};
static str readers[] = {STR_INIT("guest")};
static const struct conv_acl READ = {.owner_id = STR_INIT("owner"),
                                     .is_shared = true,
                                     .participants = {guests, 2},
                                     .readers = {readers, 1}};
/* A reader who does not take part has no rights by that. */
static str alone[] = {STR_INIT("owner")};
static const struct conv_acl STRAY = {.owner_id = STR_INIT("owner"),
                                      .is_shared = true,
                                      .participants = {alone, 1},
                                      .readers = {guests, 2}};
static const struct conv_acl LEGACY = {0};
static const struct conv_acl SEALED = {.is_sealed = true};

/* One letter per right the person has: view, send, manage, share. */
static const struct row {
    const char *user;
    bool is_admin;
    const struct conv_acl *acl;
    const char *rights;
} ROWS[] = {
    {"owner", false, &PRIVATE, "VSMP"}, {"owner", false, &SHARED, "VSMP"},
    {"boss", true, &PRIVATE, "V--P"},   {"boss", true, &SHARED, "V--P"},
    {"guest", false, &PRIVATE, "----"}, {"guest", false, &SHARED, "VS--"},
    {"other", false, &PRIVATE, "----"}, {"other", false, &SHARED, "----"},
    {"guest", true, &SHARED, "VS-P"},   {"guest", true, &PRIVATE, "V--P"},
    {"other", false, &LEGACY, "VSMP"},  {"other", false, &SEALED, "----"},
    {"boss", true, &SEALED, "V--P"},    {"", false, &PRIVATE, "----"},
    {"", false, &SHARED, "----"},       {"guest", false, &READ, "V---"},
    {"guest", true, &READ, "V--P"},     {"owner", false, &READ, "VSMP"},
    {"guest", false, &STRAY, "----"},   {"owner", false, &STRAY, "VSMP"},
};

TEST(matrix)
{
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        const struct row *r = &ROWS[i];
        struct viewer v = {.user_id = str_from(r->user), .is_workspace_admin = r->is_admin};
        for (int right = CONV_VIEW; right <= CONV_SHARE; right++) {
            bool expected = r->rights[right] != '-';
            if (access_allows(&v, r->acl, (enum conv_right)right) != expected)
                fail_msg("row %zu (%s): right %d should be %d", i, r->user, right, expected);
        }
    }
}

TEST(nobody_is_not_a_participant)
{
    str blank[] = {STR_INIT("")};
    struct conv_acl acl = {.owner_id = STR("owner"), .is_shared = true, .participants = {blank, 1}};
    struct viewer nobody = {0};
    assert_false(access_allows(&nobody, &acl, CONV_VIEW));
}
