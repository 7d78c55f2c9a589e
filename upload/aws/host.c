/* Identity of this machine. */
#include "upload/aws/host.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "upload/files/file.h"
#include "upload/files/untrusted.h"

static void host_read_file(struct host *out, const char *path)
{
	struct buf text = BUF_INIT(1 << 20);
	int err = file_read(&text, path);
	const char *id;

	if (!err) {
		out->object = cJSON_ParseWithLength((const char *)text.data, text.length);
		if (!cJSON_IsObject(out->object))
			err = -EBADMSG;
	}
	if (err) {
		log_warn("cannot read the metadata %s: %s", path,
			 err == -EBADMSG ? "it is not a JSON object" : strerror(-err));
		host_free(out);
		goto out;
	}
	id = cJSON_GetStringValue(cJSON_GetObjectItem(out->object, "ec2_instance_id"));
	out->kind = id ? HOST_EC2 : HOST_UNKNOWN;
	if (!id) {
		id = cJSON_GetStringValue(cJSON_GetObjectItem(out->object, "ecs_task_arn"));
		out->kind = id ? HOST_ECS : HOST_UNKNOWN;
	}
	out->id = id && untrusted_is_valid(UNTRUSTED_MACHINE, id) ? strdup(id) : NULL;
	if (!out->id)
		out->kind = HOST_UNKNOWN;
out:
	buf_free(&text);
}

int host_find(struct host *out, struct aws *aws, const char *setting)
{
	int ec2, ecs;

	memset(out, 0, sizeof(*out));
	if (!strcmp(setting, "none"))
		return 0;
	if (!strncmp(setting, "file:", 5)) {
		host_read_file(out, setting + 5);
		return 0;
	}
	ec2 = host_ec2(out, aws);
	ecs = ec2 ? host_ecs(out, aws) : 0;
	if (!ecs)
		return 0;
	if (aws->imds_timed_out || ec2 != -ENOENT || ecs != -ENOENT)
		return -EAGAIN;
	log_info("this machine is neither an EC2 instance nor an ECS task");
	return -ENOENT;
}

void host_free(struct host *host)
{
	free(host->id);
	cJSON_Delete(host->object);
	memset(host, 0, sizeof(*host));
}

int host_machine(const struct host *host, struct buf *out)
{
	size_t start;
	int err;

	if (host->kind == HOST_UNKNOWN)
		return buf_append_string(out, "unknown__");
	err = buf_append_string(out, host->kind == HOST_EC2 ? "ec2_" : "ecs_");
	start = out->length;
	if (!err)
		err = buf_append_string(out, host->id);
	for (size_t i = start; i < out->length; i++)
		if (out->data[i] == '/' || out->data[i] == '_')
			out->data[i] = '-';
	return err ? err : buf_append_string(out, "_");
}
