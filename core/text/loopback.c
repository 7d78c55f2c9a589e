/* Check for loopback addresses in text. */
#include "core/text/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>

bool text_is_loopback(int family, const char *text)
{
	struct in6_addr six;
	uint8_t four[4];

	if (family == AF_INET)
		return inet_pton(AF_INET, text, four) == 1 && four[0] == 127;
	return inet_pton(AF_INET6, text, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}
