/* upload/s3/s3_redirect.c: redirects are followed only within the store. */
#include "upload/s3/s3_redirect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fixtures/suite.h"

#define AT_STORE  "http://store.example:9000/bucket/"
#define AT_AMAZON "https://bucket.s3.eu-west-1.amazonaws.com/"

static const struct {
	const char *base, *location, *to;
} redirects[] = {
	{ AT_STORE, "http://store.example:9001/bucket/a:k", "http://store.example:9001/bucket/" },
	{ AT_STORE, "http://store.example:9001/other/way/bucket/a%3Ak",
	  "http://store.example:9001/other/way/bucket/" },
	{ AT_STORE, "http://node7.store.example/bucket/a%3ak",
	  "http://node7.store.example/bucket/" },
	{ AT_STORE, "https://store.example/bucket/a:k", "https://store.example/bucket/" },
	{ AT_STORE, "/there/bucket/a:k", "http://store.example:9000/there/bucket/" },
	{ AT_STORE, "//node7.store.example/a:k", "http://node7.store.example/" },
	{ AT_STORE, "http://store.example/bucket/a:k?token=x#y", "http://store.example/bucket/" },
	{ AT_STORE, "HTTP://STORE.example/bucket/a:k", "HTTP://STORE.example/bucket/" },
	{ AT_STORE, "http://evil.example/bucket/a:k", NULL },
	{ AT_STORE, "http://evilstore.example/bucket/a:k", NULL },
	{ AT_STORE, "http://store.example.evil/bucket/a:k", NULL },
	{ AT_STORE, "http://store.example@evil.example/bucket/a:k", NULL },
	{ AT_STORE, "http://evil.example#store.example/bucket/a:k", NULL },
	{ AT_STORE, "http://example/bucket/a:k", NULL },
	{ AT_STORE, "http://127.0.0.1/bucket/a:k", NULL },
	{ AT_STORE, "ftp://store.example/bucket/a:k", NULL },
	{ AT_STORE, "http://store.example/login?to=/bucket/a:k", NULL },
	{ AT_STORE, "http://store.example/bucket/other", NULL },
	{ AT_STORE, "http://store.example/bucket/xa:k", NULL },
	{ AT_STORE, "bucket/a:k", NULL },
	{ AT_STORE, "", NULL },
	{ "https://store.example/bucket/", "http://store.example/bucket/a:k", NULL },
	{ "https://store.example/bucket/", "https://store.example:1/bucket/a:k",
	  "https://store.example:1/bucket/" },
	{ "http://127.0.0.1:1/bucket/", "http://127.0.0.1:2/bucket/a:k",
	  "http://127.0.0.1:2/bucket/" },
	{ "http://127.0.0.1:1/bucket/", "http://127.0.0.2:1/bucket/a:k", NULL },
	{ "http://127.0.0.1:1/bucket/", "http://x.127.0.0.1/bucket/a:k", NULL },
	{ "http://127.0.0.1:1/bucket/", "http://localhost:1/bucket/a:k", NULL },
	{ "http://[::1]:1/bucket/", "/bucket/b/a:k", "http://[::1]:1/bucket/b/" },
	{ "http://bucket.store.example/", "http://bucket.n1.store.example/a:k",
	  "http://bucket.n1.store.example/" },
	{ "http://bucket.store.example/", "http://store.example/bucket/a:k",
	  "http://store.example/bucket/" },
	{ AT_AMAZON, "https://bucket.s3-us-west-2.amazonaws.com/a:k",
	  "https://bucket.s3-us-west-2.amazonaws.com/" },
	{ AT_AMAZON, "https://bucket.s3.us-gov-west-1.amazonaws.com/a%3Ak",
	  "https://bucket.s3.us-gov-west-1.amazonaws.com/" },
	{ AT_AMAZON, "https://bucket.s3.dualstack.us-west-2.amazonaws.com/a:k",
	  "https://bucket.s3.dualstack.us-west-2.amazonaws.com/" },
	{ AT_AMAZON, "https://s3.us-west-2.amazonaws.com/bucket/a:k",
	  "https://s3.us-west-2.amazonaws.com/bucket/" },
	{ AT_AMAZON, "https://s3.us-west-2.amazonaws.com/other/a:k", NULL },
	{ AT_AMAZON, "https://s3.us-west-2.amazonaws.com/other/bucket/a:k", NULL },
	{ "https://s3.eu-west-1.amazonaws.com/bucket/",
	  "https://s3.us-west-2.amazonaws.com/bucket/a:k",
	  "https://s3.us-west-2.amazonaws.com/bucket/" },
	{ "https://s3.eu-west-1.amazonaws.com/bucket/",
	  "https://s3.us-west-2.amazonaws.com/other/a:k", NULL },
	{ AT_AMAZON, "https://other.s3.us-west-2.amazonaws.com/a:k", NULL },
	{ AT_AMAZON, "https://bucket.s3.us-west-2.elb.amazonaws.com/a:k", NULL },
	{ AT_AMAZON, "https://s3-evil-123.us-west-2.elb.amazonaws.com/bucket/a:k", NULL },
	{ AT_AMAZON, "https://s3-evil.us-west-2.amazonaws.com/bucket/a:k", NULL },
	{ AT_AMAZON, "https://ec2-1-2-3-4.us-west-2.compute.amazonaws.com/bucket/a:k", NULL },
	{ AT_AMAZON, "https://bucket.s3.us-west-2.amazonaws.com.cn/a:k", NULL },
	{ AT_AMAZON, "https://bucket.s3.us-west-2.amazonaws.com.evil.example/a:k", NULL },
	{ AT_AMAZON, "https://evilamazonaws.com/bucket/a:k", NULL },
	{ AT_AMAZON, "https://amazonaws.com/bucket/a:k", NULL },
	{ AT_AMAZON, "http://bucket.s3.us-west-2.amazonaws.com/a:k", NULL },
	{ AT_AMAZON, "https://bucket.s3.eu-west-1.amazonaws.com.s3.eu-west-1.amazonaws.com/a:k",
	  NULL },
};

static void check(const char *base, const char *bucket, const char *location, const char *wanted)
{
	struct http_response response = HTTP_RESPONSE_INIT;
	char *to;

	response.status = 307;
	snprintf(response.location, sizeof(response.location), "%s", location);
	to = s3_redirect(base, bucket, "a:k", &response);
	ck_assert_pstr_eq(to, wanted);
	free(to);
	response.status = 302; /* would become a GET */
	ck_assert_ptr_null(s3_redirect(base, bucket, "a:k", &response));
}

START_TEST(goes_where_it_may)
{
	check(redirects[_i].base, "bucket", redirects[_i].location, redirects[_i].to);
}
END_TEST

/* Buckets with names of hosts. */
START_TEST(bucket_in_the_path_is_not_a_label)
{
	check("https://s3.eu-west-1.amazonaws.com/s3/", "s3",
	      "https://s3.us-west-2.amazonaws.com/s3/a:k",
	      "https://s3.us-west-2.amazonaws.com/s3/");
	check("https://s3.s3.eu-west-1.amazonaws.com/", "s3",
	      "https://s3.s3.us-west-2.amazonaws.com/a:k",
	      "https://s3.s3.us-west-2.amazonaws.com/");
	check("http://store.example/store/", "store", "http://n1.store.example/store/a:k",
	      "http://n1.store.example/store/");
	check("http://store.example/store/", "store", "http://evil.example/store/a:k", NULL);
	check("http://store.example/store/", "store", "http://example/store/a:k", NULL);
}
END_TEST

static const struct {
	const char *base, *endpoint, *to;
} endpoints[] = {
	{ AT_AMAZON, "bucket.s3.us-west-2.amazonaws.com",
	  "https://bucket.s3.us-west-2.amazonaws.com/" },
	{ AT_AMAZON, "s3.us-west-2.amazonaws.com", "https://s3.us-west-2.amazonaws.com/bucket/" },
	{ AT_AMAZON, "evil.example", NULL },
	{ AT_AMAZON, "bucket.s3.us-west-2.amazonaws.com/evil", NULL },
	{ AT_AMAZON, "user@s3.us-west-2.amazonaws.com", NULL },
	{ AT_STORE, "n1.store.example:9001", "http://n1.store.example:9001/bucket/" },
	{ AT_STORE, "evil.example#.store.example", NULL },
};

START_TEST(goes_where_the_body_says)
{
	struct http_response response = HTTP_RESPONSE_INIT;
	char *to;

	response.status = 301;
	ck_assert_int_eq(buf_printf(&response.body,
				    "<Error><Code>PermanentRedirect</Code><Endpoint>%s</Endpoint>"
				    "</Error>",
				    endpoints[_i].endpoint),
			 0);
	to = s3_redirect(endpoints[_i].base, "bucket", "a:k", &response);
	ck_assert_pstr_eq(to, endpoints[_i].to);
	free(to);
	http_response_free(&response);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("s3_redirect");

	tcase_add_loop_test(tcase, goes_where_it_may, 0, sizeof(redirects) / sizeof(redirects[0]));
	tcase_add_test(tcase, bucket_in_the_path_is_not_a_label);
	tcase_add_loop_test(tcase, goes_where_the_body_says, 0,
			    sizeof(endpoints) / sizeof(endpoints[0]));
	return suite_run(tcase);
}
