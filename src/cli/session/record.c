#include "cli/session/record.h"

#include <pwd.h>
#include <unistd.h>

#include "workspace/audit_file.h"

static void account_name(char *ret, size_t size)
{
    struct passwd p, *found = NULL;
    char room[4096];
    if (getpwuid_r(getuid(), &p, room, sizeof room, &found) == 0 && found)
        snprintf(ret, size, "%s", found->pw_name);
    else
        snprintf(ret, size, "uid %u", (unsigned)getuid());
}

void cli_record(const struct config *c, const char *action, str target, bool is_done, str detail)
{
    char account[128];
    struct err e = {0};
    account_name(account, sizeof account);
    struct audit_entry entry = {
        .user = str_from(account),
        .how = STR("terminal"),
        .via = STR("cli"),
        .workspace = str_from(c->workspace),
        .action = str_from(action),
        .target = target,
        .outcome = is_done ? STR("ok") : STR("failed"),
        .detail = detail,
    };
    if (audit_append(c->work_dir, &entry, 1, NULL, &e) < 0) {
        err_prefix(&e, "warning: this was not recorded in the audit log");
        cli_complain(str_from(e.msg));
    }
}
