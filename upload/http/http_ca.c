/* Certificate authorities that verify servers. */
#include "upload/http/http_ca.h"

#include <errno.h>

#include "upload/files/file.h"

/* Files of Debian; Fedora and RHEL; openSUSE; old RHEL; Alpine and others. */
static const char *const places[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/cacert.pem",
	"/etc/ssl/cert.pem",
};

int http_ca_read(struct buf *out, const char *path)
{
	int err = -ENOENT;

	if (path)
		return file_read(out, path);
	for (size_t i = 0; err && i < sizeof(places) / sizeof(places[0]); i++)
		err = file_read(out, places[i]);
	return err;
}
