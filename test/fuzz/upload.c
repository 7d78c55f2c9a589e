/* Fuzzes external data of the uploads: config files, URLs, times, responses, notes. */
#include <stdlib.h>
#include <string.h>

#include "upload/aws/instant.h"
#include "upload/aws/credentials.h"
#include "upload/aws/ini.h"
#include "upload/files/name.h"
#include "upload/http/url.h"
#include "upload/queue/spool_note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_text(const char *text)
{
	struct url url;
	int64_t seconds;

	if (!url_parse(&url, text) && (!url.host[0] || url.port > 65535))
		abort();
	instant_parse(text, &seconds);
	name_parse(text, NAME_PROFILE, &seconds);
	name_parse(text, NAME_SPOOLED, &seconds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "local", "s3" };
	struct http_response response = HTTP_RESPONSE_INIT;
	struct credentials credentials = { 0 };
	struct stored_report held = { 0 };
	char *text = strndup((const char *)data, size);

	read_text(text);
	free(text);
	free(ini_get((const char *)data, size, "profile a", "s3.b"));
	free(ini_get((const char *)data, size, "default", "region"));
	if (!credentials_from_json(&credentials, (const char *)data, size, "Token"))
		credentials_clear(&credentials);
	if (!spool_note_parse(&held, (const char *)data, size, names, 2) &&
	    (held.executable[0] == '.' || strchr(held.executable, '/')))
		abort();
	spool_note_free(&held);
	if (!buf_append(&response.body, data, size))
		free(http_xml_text(&response, "Code"));
	http_response_free(&response);
	return 0;
}
