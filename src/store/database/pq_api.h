/* pq_api.h - libpq, loaded when the first connection is made (see net/curl/curl_api.h for why).
 *
 * The library stays loaded for the life of the process. Any thread. */
#pragma once

#include <libpq-fe.h>

#include "base/err.h"

#define PQ_API_FUNCTIONS(X)                                                                        \
    X(connectStartParams)                                                                          \
    X(connectPoll)                                                                                 \
    X(conninfoParse)                                                                               \
    X(conninfoFree)                                                                                \
    X(freemem)                                                                                     \
    X(status)                                                                                      \
    X(socket)                                                                                      \
    X(errorMessage)                                                                                \
    X(finish)                                                                                      \
    X(setnonblocking)                                                                              \
    X(setNoticeProcessor)                                                                          \
    X(enterPipelineMode)                                                                           \
    X(pipelineSync)                                                                                \
    X(sendPrepare)                                                                                 \
    X(sendQueryParams)                                                                             \
    X(sendQueryPrepared)                                                                           \
    X(flush)                                                                                       \
    X(consumeInput)                                                                                \
    X(notifies)                                                                                    \
    X(isBusy)                                                                                      \
    X(getResult)                                                                                   \
    X(resultStatus)                                                                                \
    X(resultErrorField)                                                                            \
    X(cmdStatus)                                                                                   \
    X(ntuples)                                                                                     \
    X(getisnull)                                                                                   \
    X(getlength)                                                                                   \
    X(getvalue)                                                                                    \
    X(clear)                                                                                       \
    X(serverVersion)                                                                               \
    X(sslInUse)

struct pq_api {
#define PQ_API_MEMBER(name) typeof(PQ##name) *name;
    PQ_API_FUNCTIONS(PQ_API_MEMBER)
#undef PQ_API_MEMBER
};

/* 0, or -ENOENT / -ENOSYS with a message that says what to install. */
int pq_api_load(struct pq_api *ret, struct err *e);
