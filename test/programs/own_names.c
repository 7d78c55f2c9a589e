/* Defines functions of the preload's own libraries, with default visibility: a call of one of them
 * ends the program. Waits for the given seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OWN(name)                                \
	__attribute__((noinline)) int name(void) \
	{                                        \
		puts(#name " was called");       \
		fflush(stdout);                  \
		_exit(99);                       \
	}

OWN(deflate)
OWN(deflateInit2_)
OWN(deflateEnd)
OWN(inflate)
OWN(crc32)
OWN(adler32)
OWN(curl_global_init)
OWN(curl_easy_init)
OWN(curl_easy_setopt)
OWN(curl_easy_perform)
OWN(curl_easy_getinfo)
OWN(curl_easy_reset)
OWN(curl_easy_cleanup)
OWN(curl_slist_append)
OWN(curl_slist_free_all)
OWN(curl_getdate)
OWN(Curl_connect)
OWN(mbedtls_ssl_init)
OWN(mbedtls_ssl_setup)
OWN(mbedtls_ssl_handshake)
OWN(mbedtls_ssl_read)
OWN(mbedtls_ssl_write)
OWN(mbedtls_x509_crt_parse)
OWN(mbedtls_ctr_drbg_seed)
OWN(mbedtls_entropy_init)
OWN(mbedtls_md)
OWN(mbedtls_md_hmac)
OWN(mbedtls_sha256)
OWN(mbedtls_sha256_update)
OWN(psa_crypto_init)
OWN(zip_open)
OWN(zip_close)
OWN(cJSON_CreateObject)
OWN(cJSON_ParseWithLength)
OWN(cJSON_PrintUnformatted)
OWN(cJSON_AddStringToObject)
OWN(cJSON_Delete)
OWN(cJSON_free)

int main(int argc, char **argv)
{
	sleep(argc > 1 ? (unsigned int)atoi(argv[1]) : 0);
	puts("done");
	return 0;
}
