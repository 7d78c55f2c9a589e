/* Identity of a report's process, as labels. */
#include "upload/push/identity.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upload/queue/origin.h"
#include "upload/queue/pairs.h"

static struct identity_label *identity_find(struct identity *identity, const char *key)
{
	for (size_t i = 0; i < identity->count; i++)
		if (!strcmp(identity->labels[i].key, key))
			return &identity->labels[i];
	return NULL;
}

const char *identity_get(const struct identity *identity, const char *key)
{
	const struct identity_label *label = identity_find((struct identity *)identity, key);

	return label ? label->text : NULL;
}

/* Add a label. Adds nothing if TEXT is NULL or empty, KEY exists, or the table is full. */
static struct identity_label *identity_add(struct identity *identity, const char *key,
					   const char *text)
{
	struct identity_label *label = &identity->labels[identity->count];

	if (!text || !*text || identity->count == IDENTITY_LABELS_MAX ||
	    identity_find(identity, key))
		return NULL;
	*label = (struct identity_label){ .key = strdup(key), .text = strdup(text) };
	identity->count++;
	if (label->key && label->text)
		return label;
	identity->count--;
	free(label->key);
	free(label->text);
	identity->failed = true;
	return NULL;
}

static void identity_add_number(struct identity *identity, const char *key, long number)
{
	char text[24];
	struct identity_label *label;

	snprintf(text, sizeof(text), "%ld", number);
	label = identity_add(identity, key, text);
	if (label)
		label->number = true;
}

static int identity_add_attribute(void *arg, const char *key, const char *value)
{
	identity_add(arg, key, value);
	return 0;
}

static int identity_add_service(void *arg, const char *key, const char *value)
{
	if (!strcmp(key, "service.name"))
		identity_add(arg, key, value);
	return 0;
}

static int identity_add_tag(void *arg, const char *key, const char *value)
{
	struct identity_label *label = identity_add(arg, key, value);

	if (label)
		label->tag = true;
	return 0;
}

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

#define CONTAINER_ID 64

/* The container id in the name of a control group: the last 64 consecutive hexadecimal digits,
 * as runtimes write it. */
static void identity_add_container(struct identity *identity, const char *cgroup)
{
	const char *found = NULL;
	char id[CONTAINER_ID + 1];

	for (const char *p = cgroup; p && *p;) {
		size_t digits = strspn(p, "0123456789abcdef");

		if (digits == CONTAINER_ID)
			found = p;
		p += digits ? digits : 1;
	}
	if (!found)
		return;
	snprintf(id, sizeof(id), "%s", found);
	identity_add(identity, "container.id", id);
}

/* Members of the origin that describe the machine and the pod, and their labels. */
static const struct {
	const char *object, *key, *label;
} facts[] = {
	{ NULL, "hostname", "host.name" },
	{ "host", "ec2_instance_id", "host.id" },
	{ "host", "ec2_instance_type", "host.type" },
	{ "host", "aws_account_id", "cloud.account.id" },
	{ "host", "aws_region_id", "cloud.region" },
	{ "host", "availability_zone", "cloud.availability_zone" },
	{ "host", "ecs_task_arn", "aws.ecs.task.arn" },
	{ "kubernetes", "pod", "k8s.pod.name" },
	{ "kubernetes", "namespace", "k8s.namespace.name" },
	{ "kubernetes", "node", "k8s.node.name" },
};

static void identity_add_origin(struct identity *identity, const cJSON *origin)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const cJSON *object = origin;

		if (facts[i].object)
			object = cJSON_GetObjectItemCaseSensitive(origin, facts[i].object);
		identity_add(identity, facts[i].label, text_of(object, facts[i].key));
	}
	identity_add_container(identity, text_of(origin, "cgroup"));
}

int identity_of(struct identity *out, const struct report *report, const struct config *config,
		const struct environment *environment, const struct host *host)
{
	const char *tags = report->tags ? report->tags : config->tags;
	cJSON *origin = origin_of(report, environment, host);
	const char *attributes;

	*out = (struct identity){ .failed = !origin };
	attributes = text_of(origin, "attributes");
	identity_add(out, "service.name", text_of(origin, "service"));
	if (attributes)
		pairs_each(attributes, true, identity_add_service, out);
	identity_add(out, "service.name", report->group ? report->group : config->profiling_group);
	identity_add(out, "service.name",
		     report->executable ? report->executable : "unknown_service");
	if (attributes)
		pairs_each(attributes, true, identity_add_attribute, out);
	if (tags && report_each_tag(tags, identity_add_tag, out))
		out->failed = true;
	identity_add(out, "service.version", identity_get(out, "version"));
	identity_add_origin(out, origin);
	identity_add(out, "host.name", report->host);
	identity_add_number(out, "process.pid", report->pid);
	identity_add(out, "process.executable.name", report->executable);
	cJSON_Delete(origin);
	return out->failed ? -ENOMEM : 0;
}

void identity_free(struct identity *identity)
{
	for (size_t i = 0; i < identity->count; i++) {
		free(identity->labels[i].key);
		free(identity->labels[i].text);
	}
	identity->count = 0;
}
