/* Checks of text options. */
#include "core/options/option_value.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "core/text/loopback.h"

bool check_no_space(const char *value)
{
	return !strchr(value, ' ');
}

bool check_library(const char *value)
{
	/* The dynamic linker resolves a relative path with a slash in the program's working directory, where another
	 * user may put a file. */
	return value[0] == '/' || !strchr(value, '/');
}

/* Check a part of an object's name in a bucket. The name is in the URL of an upload. A proxy or a store that
 * resolves `.` and `..` would reach another object, even in another bucket. */
bool check_object_name(const char *value)
{
	for (;; value++) {
		size_t length = strcspn(value, "/");

		if (length && length <= 2 && !strncmp(value, "..", length))
			return false;
		value += length;
		if (!*value)
			return true;
	}
}

bool check_headers(const char *value)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "!#$%&'*+-.^_`|~";
	const char *p = value;

	for (;; p++) {
		size_t name;

		p += strspn(p, " ");
		name = strspn(p, token);
		p += name;
		p += strspn(p, " ");
		if (!name || *p != '=')
			return false;
		p = strchrnul(p, ',');
		if (!*p)
			return true;
	}
}

bool check_tags(const char *value)
{
	/* Recordings hold tags of this size in full. */
	static const ptrdiff_t tag_max = 4096;
	const char *p = value, *equals, *end;

	for (;; p = end + 1) {
		end = strchrnul(p, ',');
		equals = memchr(p, '=', (size_t)(end - p));
		if (!equals || equals == p || end - p > tag_max)
			return false;
		if (!*end)
			return true;
	}
}

bool check_log_file(const char *value)
{
	static const char stdouts[][16] = { "-", "stdout", "/dev/stdout", "/dev/fd/1",
					    "/proc/self/fd/1" };

	for (size_t i = 0; i < sizeof(stdouts) / sizeof(*stdouts); i++)
		if (!strcmp(value, stdouts[i]))
			return false;
	return true;
}

bool check_url(const char *value)
{
	size_t scheme = !strncmp(value, "http://", 7) ? 7 : !strncmp(value, "https://", 8) ? 8 : 0;

	return scheme && value[scheme] && value[scheme] != '/' && check_no_space(value);
}

bool check_metadata(const char *value)
{
	return !strcmp(value, "auto") || !strcmp(value, "none") ||
	       (!strncmp(value, "file:", 5) && value[5]);
}

/* Copy the address before the last colon of LISTEN, without the brackets of IPv6. */
static bool listen_address(const char *listen, char address[INET6_ADDRSTRLEN + 2])
{
	const char *colon = strrchr(listen, ':');
	size_t length = colon ? (size_t)(colon - listen) : 0;

	if (length > 2 && listen[0] == '[' && listen[length - 1] == ']') {
		listen++;
		length -= 2;
	} else if (memchr(listen, ':', length)) {
		return false;
	}
	if (!length || length >= INET6_ADDRSTRLEN)
		return false;
	memcpy(address, listen, length);
	address[length] = '\0';
	return true;
}

static bool check_port(const char *digits)
{
	unsigned int port = 0;

	for (; *digits >= '0' && *digits <= '9' && port <= UINT16_MAX; digits++)
		port = port * 10 + (unsigned int)(*digits - '0');
	return !*digits && port && port <= UINT16_MAX;
}

bool check_listen(const char *value)
{
	struct sockaddr_un un;
	char address[INET6_ADDRSTRLEN + 2];
	uint8_t binary[sizeof(struct in6_addr)];

	if (!strcmp(value, "auto"))
		return true;
	if (!strncmp(value, "unix:", 5))
		return value[5] == '/' && strlen(value + 5) < sizeof(un.sun_path);
	if (!listen_address(value, address) || !check_port(strrchr(value, ':') + 1))
		return false;
	return !strcmp(address, "localhost") || inet_pton(AF_INET, address, binary) == 1 ||
	       (value[0] == '[' && inet_pton(AF_INET6, address, binary) == 1);
}

bool listen_is_local(const char *listen)
{
	char address[INET6_ADDRSTRLEN + 2];

	if (!strcmp(listen, "auto") || !strncmp(listen, "unix:", 5))
		return true;
	return listen_address(listen, address) &&
	       (text_is_loopback(AF_INET, address) || text_is_loopback(AF_INET6, address) ||
		!strcmp(address, "localhost"));
}
