/* Check for loopback addresses in text. */
#ifndef CORE_TEXT_LOOPBACK_H
#define CORE_TEXT_LOOPBACK_H

#include <stdbool.h>

/* True when TEXT is an address of FAMILY, AF_INET or AF_INET6, that leads to this host only: 127.0.0.0/8 or ::1.
 * (IPv4 addresses in IPv6 notation are not accepted.) Names are not looked up. Any thread. */
bool text_is_loopback(int family, const char *text);

#endif
