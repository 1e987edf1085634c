/* address.h - which IP addresses belong to the open internet.
 *
 * Requests to URLs that users supply must not reach this machine, its network or the cloud's
 * metadata service. Addresses that carry an IPv4 address inside (mapped, NAT64, 6to4 ...) are
 * judged by it. An address that is in no table is not public. Pure; any thread. */
#pragma once

#include <sys/socket.h>

#include "base/str.h"

enum address_class {
    ADDRESS_PUBLIC,
    ADDRESS_LOOPBACK,
    ADDRESS_PRIVATE,
    ADDRESS_LINK_LOCAL,
    ADDRESS_METADATA, /* where clouds hand out credentials */
    ADDRESS_RESERVED, /* multicast, documentation, unspecified, not IP ... */
};

enum address_class address_classify(const struct sockaddr *sa, size_t len);

/* "a loopback address", for messages. */
const char *address_class_name(enum address_class c);
