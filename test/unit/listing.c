/* decoder/bucket/listing.c: pages of a bucket's list, as stores write them, and malformed ones. */
#include "decoder/bucket/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "test/fixtures/suite.h"

#define HEAD           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define NAMESPACE      " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""
#define ONE            "<Contents><Key>a</Key><Size>1</Size></Contents>"
#define RESULT(inside) "<ListBucketResult>" inside "</ListBucketResult>"

/* The arguments of EACH: "key etag bytes modified frozen\n" each. */
static struct buf got = BUF_INIT(1u << 20);

static int note(void *arg, const struct listing_entry *object)
{
	(void)arg;
	return buf_printf(&got, "%s %s %llu %lld%s\n", object->key, object->etag,
			  (unsigned long long)object->bytes, (long long)object->modified,
			  object->is_frozen ? " frozen" : "");
}

static int read_page(struct listing *page, const char *xml)
{
	buf_reset(&got);
	return listing_read(page, xml, strlen(xml), note, NULL);
}

static const char *text(void)
{
	return got.length ? buf_string(&got) : "";
}

static const struct {
	const char *xml, *got, *token;
} pages[] = {
	/* Amazon's. */
	{ HEAD "<ListBucketResult" NAMESPACE "><Name>b</Name><Prefix>p%2F</Prefix>"
	       "<KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys><EncodingType>url</EncodingType>"
	       "<IsTruncated>true</IsTruncated>"
	       "<NextContinuationToken>1ueG+c/=&amp;&#38;&#x26;</NextContinuationToken>"
	       "<Contents><Key>p/a+b%2Bc%c3%a4.zip</Key>"
	       "<LastModified>2026-11-21T02:10:00.000Z</LastModified>"
	       "<ETag>&quot;0123&quot;</ETag><ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm>"
	       "<Size>50000</Size><Owner><ID>x</ID><DisplayName/></Owner>"
	       "<StorageClass>STANDARD</StorageClass></Contents>"
	       "<Contents><Key>p/b.zip</Key><LastModified>never</LastModified><Size>0</Size>"
	       "<RestoreStatus><IsRestoreInProgress>false</IsRestoreInProgress></RestoreStatus>"
	       "<StorageClass>DEEP_ARCHIVE</StorageClass></Contents></ListBucketResult>",
	  "p/a b+c\xc3\xa4.zip \"0123\" 50000 1795227000\n" /* "+" is a blank */
	  "p/b.zip  0 0 frozen\n",
	  "1ueG+c/=&&&" },
	/* The encoding is given after the names; names that are not encoded stay unchanged. */
	{ RESULT("<Contents><Key>%41</Key><Size>1</Size></Contents><EncodingType>url"
		 "</EncodingType>"),
	  "A  1 0\n", NULL },
	{ RESULT("<Contents><Key>%41+</Key><Size>1</Size></Contents>"), "%41+  1 0\n", NULL },
	{ RESULT("<EncodingType>url</EncodingType><Contents><Key>%4%zz%</Key><Size>1</Size>"
		 "</Contents>"),
	  "%4%zz%  1 0\n", NULL },
	/* Blanks, the other kind of quotes, a byte order mark, a token on the last page. */
	{ "\xef\xbb\xbf" HEAD "\n<ListBucketResult a = 'b>c' >\n <IsTruncated>false</IsTruncated>\n"
	  "<NextContinuationToken>x</NextContinuationToken>" ONE "</ListBucketResult >\n\n",
	  "a  1 0\n", NULL },
	{ "<ListBucketResult/>", "", NULL },
	/* An element of that name in another place has another meaning. */
	{ RESULT("<CommonPrefixes><Contents><Key>x</Key></Contents></CommonPrefixes>" ONE),
	  "a  1 0\n", NULL },
	/* A name with a NUL cannot be requested. */
	{ RESULT("<EncodingType>url</EncodingType><Contents><Key>x%00y</Key><Size>1</Size>"
		 "</Contents>" ONE),
	  "a  1 0\n", NULL },
	{ RESULT("<Contents><Key>&#x1F600;&#233;&#8364;&lt;&gt;&apos;</Key><Size>1</Size>"
		 "</Contents>"),
	  "\xf0\x9f\x98\x80\xc3\xa9\xe2\x82\xac<>'  1 0\n", NULL },
};

START_TEST(reads_what_stores_write)
{
	struct listing page;

	ck_assert_msg(!read_page(&page, pages[_i].xml), "%zu: %s", page.offset, page.problem);
	ck_assert_str_eq(text(), pages[_i].got);
	ck_assert_int_eq(page.token != NULL, pages[_i].token != NULL);
	if (page.token)
		ck_assert_str_eq(page.token, pages[_i].token);
	free(page.token);
}
END_TEST

static const struct {
	const char *xml, *problem;
} bad[] = {
	{ "", "an empty answer" },
	{ "hello", "text outside of all elements" },
	{ "<html></html>", "not a ListBucketResult" },
	{ "<Error><Code>AccessDenied</Code></Error>", "not a ListBucketResult" },
	{ "<ListBucketResult>" ONE, "it is incomplete" },
	{ "<ListBucketResult>" ONE "</ListBucketResult", "a tag that does not end" },
	{ "<ListBucketResult>" ONE "</ListBucket>", "an end tag without its start" },
	{ RESULT(ONE) "<ListBucketResult/>", "not a ListBucketResult" },
	{ RESULT(ONE) "x", "text outside of all elements" },
	{ "</a>", "an end tag without its start" },
	{ "<!DOCTYPE a [<!ENTITY b \"c\">]>" RESULT(ONE), "an invalid tag" },
	{ RESULT("<!-- -->"), "an invalid tag" },
	{ RESULT("<![CDATA[x]]>"), "an invalid tag" },
	{ RESULT("<?php ?>"), "an invalid tag" },
	{ "<?xml version='1.0'", "a declaration without an end" },
	{ RESULT("&b;"), "an entity that is not XML's own" },
	{ RESULT("&#0;"), "a reference to an invalid character" },
	{ RESULT("&#xD800;"), "a reference to an invalid character" },
	{ RESULT("&#1114112;"), "a reference to an invalid character" },
	{ RESULT("&#99999999999999999999;"), "a reference without an end" },
	{ RESULT("&#;"), "a reference without an end" },
	{ RESULT("&#65"), "a reference without an end" },
	{ RESULT("\001"), "a control character" },
	{ RESULT("<a b></a>"), "an attribute without a value" },
	{ RESULT("<a b=c></a>"), "an attribute without a value" },
	{ RESULT("<a b='></a>"), "an attribute without an end" },
	{ RESULT("<a 1='b'></a>"), "a tag that does not end" },
	{ RESULT("<a><b><c><d><e><f><g><h></h></g></f></e></d></c></b></a>"), "elements too deep" },
	{ RESULT("<Contents><Key>a</Key></Contents>"),
	  "an object without a name or without a size" },
	{ RESULT("<Contents><Size>1</Size></Contents>"),
	  "an object without a name or without a size" },
	{ RESULT("<Contents/>"), "an object without a name or without a size" },
	{ RESULT("<Contents><Key></Key><Size>1</Size></Contents>"), "an empty name" },
	{ RESULT("<Contents><Key>a</Key><Key>b</Key><Size>1</Size></Contents>"),
	  "a duplicate element" },
	{ RESULT("<Contents><Key>a</Key><Size>-1</Size></Contents>"),
	  "a size that is not a number" },
	{ RESULT("<Contents><Key>a</Key><Size></Size></Contents>"), "a size that is not a number" },
	{ RESULT("<Contents><Key>a</Key><Size>18446744073709551616</Size></Contents>"),
	  "a size that is not a number" },
	{ RESULT("<IsTruncated>maybe</IsTruncated>"), "neither true nor false" },
	{ RESULT("<IsTruncated>true</IsTruncated>"),
	  "it is truncated and has no continuation token" },
	{ RESULT("<IsTruncated>true</IsTruncated><IsTruncated>false</IsTruncated>"),
	  "a duplicate element" },
	{ RESULT("<EncodingType>rot13</EncodingType>"), "an unknown encoding of names" },
};

/* An incomplete page gives no names. */
START_TEST(refuses_the_rest)
{
	struct listing page;

	ck_assert_int_eq(read_page(&page, bad[_i].xml), -EBADMSG);
	ck_assert_str_eq(page.problem, bad[_i].problem);
	ck_assert_uint_le(page.offset, strlen(bad[_i].xml));
	ck_assert_ptr_null(page.token);
	ck_assert_str_eq(text(), "");
}
END_TEST

/* Truncated at any byte, a page is incomplete. */
START_TEST(refuses_every_part)
{
	const char *xml = pages[0].xml;
	struct listing page;

	for (size_t length = 0; length < strlen(xml); length++) {
		buf_reset(&got);
		ck_assert_int_eq(listing_read(&page, xml, length, note, NULL), -EBADMSG);
		ck_assert_uint_eq(got.length, 0);
	}
}
END_TEST

START_TEST(refuses_endless_names)
{
	struct buf xml = BUF_INIT(1u << 20);
	struct listing page;

	ck_assert(!buf_append_string(&xml, "<ListBucketResult><Contents><Key>"));
	for (int i = 0; i < 20000; i++)
		ck_assert(!buf_append_string(&xml, "x"));
	ck_assert_int_eq(read_page(&page, buf_string(&xml)), -EBADMSG);
	ck_assert_str_eq(page.problem, "a text is too long");
	buf_free(&xml);
}
END_TEST

static int stop(void *arg, const struct listing_entry *object)
{
	(void)object;
	return ++*(int *)arg == 2 ? -ECANCELED : 0;
}

START_TEST(ends_when_told)
{
	const char *xml = RESULT(ONE ONE ONE);
	struct listing page;
	int count = 0;

	ck_assert_int_eq(listing_read(&page, xml, strlen(xml), stop, &count), -ECANCELED);
	ck_assert_int_eq(count, 2);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("listing");

	tcase_add_loop_test(tcase, reads_what_stores_write, 0, sizeof(pages) / sizeof(pages[0]));
	tcase_add_loop_test(tcase, refuses_the_rest, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tcase, refuses_every_part);
	tcase_add_test(tcase, refuses_endless_names);
	tcase_add_test(tcase, ends_when_told);
	return suite_run(tcase);
}
