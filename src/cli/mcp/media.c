#include "base/str.h"
#include "cli/command.h"
#include "media/helper/helper.h"

/* nb starts this for every picture; it is hidden from the list of commands. */
static int run_media(struct cmd *x)
{
    uint64_t side, bytes;
    bool as_sixels = x->argc > 2 && strcmp(x->argv[2], MEDIA_AS_SIXELS) == 0;
    if (parse_u64(str_from(x->argv[0]), &side) == 0 &&
        parse_u64(str_from(x->argv[1]), &bytes) == 0 && side > 0 && side <= UINT16_MAX &&
        bytes <= MEDIA_INPUT_MAX && (as_sixels || x->argc == 2))
        return media_helper_run((uint32_t)side, (size_t)bytes, as_sixels);
    return cmd_usage(x, "nb starts this command itself");
}

const struct command CMD_MEDIA = {
    .name = "media",
    .operands = "SIDE BYTES [FORM]",
    .needs = WRITES_PROTOCOL,
    .run = run_media,
};
