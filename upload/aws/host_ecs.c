/* ECS or Fargate task, from the task metadata endpoint, version 4. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "upload/aws/host.h"
#include "upload/files/untrusted.h"
#include "upload/http/url.h"

#define TIMEOUT_MS 1000

static int host_ecs_fetch_task(struct aws *aws, cJSON **out)
{
	struct http_request request = HTTP_REQUEST_INIT("GET", TIMEOUT_MS, TIMEOUT_MS);
	struct http_response response = HTTP_RESPONSE_INIT;
	const char *base = environment_get(aws->environment, "ECS_CONTAINER_METADATA_URI_V4");
	int err = -ENOENT;

	if (!base || !url_is_base(base))
		goto out;
	err = buf_printf(&request.url, "%s/task", base);
	if (!err)
		err = aws->http->send(aws->http, &request, &response);
	if (!err && response.status != 200)
		err = -ENOENT;
	if (!err) {
		*out = cJSON_ParseWithLength((const char *)response.body.data,
					     response.body.length);
		err = *out ? 0 : -EBADMSG;
	}
out:
	http_response_free(&response);
	http_request_free(&request);
	return err;
}

/* Add the part INDEX of "arn:PARTITION:SERVICE:REGION:ACCOUNT:…" as a JSON string. */
static void add_arn_part(cJSON *object, const char *key, const char *arn, unsigned int index)
{
	char part[64];

	while (index-- && arn)
		arn = strchr(arn, ':') ? strchr(arn, ':') + 1 : NULL;
	if (!arn || !strchr(arn, ':') || strcspn(arn, ":") >= sizeof(part))
		return;
	memcpy(part, arn, strcspn(arn, ":"));
	part[strcspn(arn, ":")] = '\0';
	cJSON_AddStringToObject(object, key, part);
}

static void add_limit(cJSON *object, const char *key, const cJSON *limits, const char *name)
{
	const cJSON *limit = cJSON_GetObjectItem(limits, name);

	if (cJSON_IsNumber(limit))
		cJSON_AddNumberToObject(object, key, limit->valuedouble);
}

static int host_ecs_parse(struct host *out, const cJSON *task)
{
	const char *arn = cJSON_GetStringValue(cJSON_GetObjectItem(task, "TaskARN"));
	const char *cluster = cJSON_GetStringValue(cJSON_GetObjectItem(task, "Cluster"));
	const cJSON *limits = cJSON_GetObjectItem(task, "Limits");

	if (!arn || !untrusted_is_valid(UNTRUSTED_MACHINE, arn))
		return -ENOENT;
	out->id = strdup(arn);
	out->object = cJSON_CreateObject();
	if (!out->id || !out->object) {
		host_free(out);
		return -ENOMEM;
	}
	cJSON_AddStringToObject(out->object, "ecs_task_arn", arn);
	if (cluster)
		cJSON_AddStringToObject(out->object, "ecs_cluster_arn", cluster);
	add_arn_part(out->object, "aws_region_id", arn, 3);
	add_arn_part(out->object, "aws_account_id", arn, 4);
	add_limit(out->object, "cpu_limit", limits, "CPU");
	add_limit(out->object, "memory_limit_mib", limits, "Memory");
	out->kind = HOST_ECS;
	return 0;
}

int host_ecs(struct host *out, struct aws *aws)
{
	cJSON *task = NULL;
	int err = host_ecs_fetch_task(aws, &task);

	if (!err)
		err = host_ecs_parse(out, task);
	cJSON_Delete(task);
	return err;
}
