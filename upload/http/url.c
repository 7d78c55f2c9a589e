/* URLs: parse, and percent-encode for S3's signatures. */
#include "upload/http/url.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/text/loopback.h"

static bool url_is_host_character(char c, bool ipv6)
{
	if (ipv6)
		return isxdigit((unsigned char)c) || c == ':' || c == '.';
	return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_';
}

static int url_parse_host(struct url *url, const char **text)
{
	const char *p = *text;
	size_t length = 0;

	url->ipv6 = *p == '[';
	if (url->ipv6)
		p++;
	for (; url_is_host_character(*p, url->ipv6); p++) {
		if (length + 1 == sizeof(url->host))
			return -EINVAL;
		url->host[length++] = (char)tolower((unsigned char)*p);
	}
	url->host[length] = '\0';
	if (!length || (url->ipv6 && *p++ != ']'))
		return -EINVAL;
	*text = p;
	return 0;
}

static int url_parse_port(struct url *url, const char **text)
{
	const char *p = *text;

	url->port = url->https ? 443 : 80;
	url->port_written = *p == ':';
	if (!url->port_written)
		return 0;
	p++;
	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (url->port = 0; isdigit((unsigned char)*p); p++) {
		url->port = url->port * 10 + (unsigned int)(*p - '0');
		if (url->port > 65535)
			return -EINVAL;
	}
	*text = p;
	return 0;
}

int url_parse(struct url *url, const char *text)
{
	memset(url, 0, sizeof(*url));
	if (!strncasecmp(text, "https://", 8))
		url->https = true;
	else if (strncasecmp(text, "http://", 7) != 0)
		return -EINVAL;
	text += url->https ? 8 : 7;

	if (url_parse_host(url, &text) || url_parse_port(url, &text))
		return -EINVAL;
	if (*text && !strchr("/?#", *text))
		return -EINVAL;
	for (url->path = text; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return -EINVAL;
	return 0;
}

bool url_is_base(const char *text)
{
	struct url url;

	return !url_parse(&url, text) && !strpbrk(url.path, "?#");
}

int url_encode(struct buf *out, const char *text, bool slash)
{
	int err = 0;

	for (; *text && !err; text++) {
		if (isalnum((unsigned char)*text) || strchr("-._~", *text) ||
		    (slash && *text == '/'))
			err = buf_append(out, text, 1);
		else
			err = buf_printf(out, "%%%02X", (unsigned char)*text);
	}
	return err;
}

bool url_is_loopback(const struct url *url)
{
	if (url->ipv6)
		return text_is_loopback(AF_INET6, url->host);
	return text_is_loopback(AF_INET, url->host) || !strcmp(url->host, "localhost");
}
