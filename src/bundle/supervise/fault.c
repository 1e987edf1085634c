#include "bundle/supervise/fault.h"

#include <errno.h>

static const char *fault_of_stop(int code)
{
    switch (code) {
    case -ENOKEY:
        return "it needs values that an admin has to set";
    case -EKEYREJECTED:
        return "an admin has to sign in to it";
    default:
        return "it cannot be started; an admin can see why";
    }
}

const char *fault_of_state(enum bundle_state state, int code, const char *own)
{
    switch (state) {
    case BUNDLE_CRASHED:
        return "it ended unexpectedly and is started again automatically";
    case BUNDLE_DEAD:
        return "it failed several times in a row; an admin can read its log and start it again";
    case BUNDLE_STOPPED:
        return code ? fault_of_stop(code) : own;
    default:
        return "";
    }
}

const char *fault_of_request(int code)
{
    switch (code) {
    case -ETIMEDOUT:
        return "did not answer in time";
    case -EKEYREJECTED:
    case -EACCES:
        return "refused nb's credentials; an admin has to sign in again";
    case -EMSGSIZE:
    case -EFBIG:
    case -E2BIG:
    case -ENOBUFS:
        return "answered with more than nb accepts";
    case -EPROTO:
    case -EBADMSG:
        return "sent an answer that does not follow the protocol";
    case -ECANCELED:
        return "was stopped during the call; it is not known whether the call took effect";
    case -EBUSY:
        return "is busy: too many calls wait for it; try again when some have ended";
    case -EPERM:
        return "refuses the call; ask the people who run the server for more rights";
    case -ENOENT:
        return "has no approved tool of this name";
    case -ENOTCONN:
        return "has no connection; the call was not sent";
    case -ECONNRESET:
    case -EPIPE:
        return "ended during the call; it is not known whether the call took effect";
    default:
        return "cannot be reached now";
    }
}
