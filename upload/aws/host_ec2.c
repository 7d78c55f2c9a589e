/* EC2 instance, from its identity document. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "upload/aws/host.h"
#include "upload/aws/imds.h"
#include "upload/files/untrusted.h"

static const struct {
	const char *theirs, *ours;
} fields[] = {
	{ "instanceId", "ec2_instance_id" },     { "accountId", "aws_account_id" },
	{ "region", "aws_region_id" },           { "availabilityZone", "availability_zone" },
	{ "instanceType", "ec2_instance_type" }, { "imageId", "ec2_image_id" },
	{ "architecture", "architecture" },
};

static int host_ec2_parse(struct host *out, const cJSON *document)
{
	const char *id = cJSON_GetStringValue(cJSON_GetObjectItem(document, fields[0].theirs));

	if (!id || !untrusted_is_valid(UNTRUSTED_MACHINE, id))
		return -ENOENT;
	out->object = cJSON_CreateObject();
	out->id = strdup(id);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *value =
			cJSON_GetStringValue(cJSON_GetObjectItem(document, fields[i].theirs));

		if (value)
			cJSON_AddStringToObject(out->object, fields[i].ours, value);
	}
	if (!out->object || !out->id) {
		host_free(out);
		return -ENOMEM;
	}
	out->kind = HOST_EC2;
	return 0;
}

int host_ec2(struct host *out, struct aws *aws)
{
	struct buf text = BUF_INIT(64 << 10);
	cJSON *document;
	int err;

	err = imds_get(aws, "/latest/dynamic/instance-identity/document", &text);
	if (err)
		goto out;
	document = cJSON_ParseWithLength((const char *)text.data, text.length);
	err = host_ec2_parse(out, document);
	cJSON_Delete(document);
out:
	buf_free(&text);
	return err;
}
