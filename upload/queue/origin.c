/* Origin of a report: the machine, container and pod of the process that made it. */
#include "upload/queue/origin.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/text/cgroup.h"
#include "upload/files/untrusted.h"
#include "upload/files/file.h"
#include "upload/queue/json_object.h"
#include "upload/queue/pairs.h"

/* Searches for the machine, until a metadata service answers. */
#define SEARCHES_MAX 7

/* A larger host object is omitted from the note; its file is chosen by the user. */
#define HOST_MAX (16u << 10)

/* The usual variables of the Kubernetes downward API. The first that is set counts. */
static const struct {
	const char *key;
	const char *names[4];
} kubernetes[] = {
	{ "pod", { "POD_NAME", "MY_POD_NAME", "K8S_POD_NAME", "KUBERNETES_POD_NAME" } },
	{ "namespace",
	  { "POD_NAMESPACE", "MY_POD_NAMESPACE", "K8S_NAMESPACE", "KUBERNETES_NAMESPACE" } },
	{ "node", { "NODE_NAME", "MY_NODE_NAME", "K8S_NODE_NAME", "KUBERNETES_NODE_NAME" } },
};

#define KEYS (sizeof(kubernetes) / sizeof(kubernetes[0]))

/* The service variables of OpenTelemetry's SDKs. */
static const struct {
	const char *key, *name;
} services[] = {
	{ "service", "OTEL_SERVICE_NAME" },
	{ "attributes", "OTEL_RESOURCE_ATTRIBUTES" },
};

#define SERVICES (sizeof(services) / sizeof(services[0]))

static struct {
	struct environment environment;   /* set once */
	char version[ORIGIN_VERSION_MAX]; /* set once */
	pthread_mutex_t lock;             /* protects the members below */
	cJSON *host;                      /* NULL: unknown or too large */
	char *machine;                    /* NULL: unknown */
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The first of two counts, as in upload/push/identity.c. */
static int origin_read_version(void *arg, const char *key, const char *value)
{
	char *out = arg;

	if (!*out && !strcmp(key, "service.version") && strlen(value) < ORIGIN_VERSION_MAX)
		strcpy(out, value);
	return 0;
}

static int origin_find_version(char out[ORIGIN_VERSION_MAX], const char *attributes)
{
	memset(out, 0, ORIGIN_VERSION_MAX);
	return attributes ? pairs_each(attributes, true, origin_read_version, out) : 0;
}

int origin_capture(char *const *environment)
{
	own.environment.entries = environment;
	return origin_find_version(own.version,
				   environment_get(&own.environment, "OTEL_RESOURCE_ATTRIBUTES"));
}

const char *origin_own_version(void)
{
	return own.version[0] ? own.version : NULL;
}

static bool origin_is_small(const cJSON *object)
{
	char *text = cJSON_PrintUnformatted(object);
	bool small = text && strlen(text) <= HOST_MAX;

	cJSON_free(text);
	return small;
}

static char *origin_machine_name(const struct host *host)
{
	struct buf name = BUF_INIT(4096);
	char *out = NULL;

	if (!host_machine(host, &name) && buf_string(&name))
		out = strdup(buf_string(&name));
	buf_free(&name);
	return out;
}

void origin_found(const struct host *host)
{
	pthread_mutex_lock(&own.lock);
	if (host->kind == HOST_UNKNOWN && own.machine) { /* another destination has found it */
		pthread_mutex_unlock(&own.lock);
		return;
	}
	cJSON_Delete(own.host);
	free(own.machine);
	own.host = host->object && origin_is_small(host->object)
			   ? cJSON_Duplicate(host->object, true)
			   : NULL;
	own.machine = host->kind == HOST_UNKNOWN ? NULL : origin_machine_name(host);
	pthread_mutex_unlock(&own.lock);
}

void origin_find_host(struct host *host, struct aws *aws, const char *setting,
		      const struct report *report)
{
	unsigned int searches = host->searches + 1;
	int64_t now = aws->now();
	int err;

	if (host->is_final || (host->searches && report->final))
		return;
	/* The pauses are 2, 4, 8… seconds, unless the clock is set back. */
	if (host->searches && now >= host->searched_at &&
	    now - host->searched_at < 1 << host->searches)
		return;
	err = host_find(host, aws, setting);
	if (err == -EAGAIN && searches == 1)
		log_info("no metadata service of EC2 or ECS has answered; the agent asks again");
	else if (err == -EAGAIN && searches == SEARCHES_MAX)
		log_info("the metadata services do not answer; this machine stays unknown");
	host->is_final = err != -EAGAIN || searches == SEARCHES_MAX;
	host->searches = searches;
	host->searched_at = now;
	origin_found(host);
}

/* The id of the kernel's boot identifies a machine regardless of its name. */
static void origin_add_boot(cJSON *object, bool *failed)
{
	struct buf text = BUF_INIT(4096 + 1);
	int err = file_read(&text, "/proc/sys/kernel/random/boot_id");

	if (!err && buf_string(&text)) {
		text.data[strcspn((char *)text.data, "\n")] = '\0';
		json_put_string(object, "boot", (char *)text.data, failed);
	}
	*failed |= err == -ENOMEM;
	buf_free(&text);
}

static void origin_add_cgroup(cJSON *object, bool *failed)
{
	struct buf text = BUF_INIT(64 << 10);
	int err = file_read(&text, "/proc/self/cgroup");

	if (!err && buf_string(&text))
		json_put_string(object, "cgroup", cgroup_path((char *)text.data), failed);
	*failed |= err == -ENOMEM;
	buf_free(&text);
}

static void origin_add_kubernetes(cJSON *object, const struct environment *environment,
				  bool *failed)
{
	const char *value;
	cJSON *pod = NULL;

	for (size_t i = 0; i < KEYS; i++) {
		value = NULL;
		for (size_t n = 0; n < 4 && !value; n++)
			value = environment_get(environment, kubernetes[i].names[n]);
		if (value && !pod)
			pod = json_put(object, "kubernetes", cJSON_CreateObject(), failed);
		json_put_string(pod, kubernetes[i].key, value, failed);
	}
}

static void origin_add_service(cJSON *object, const struct environment *environment, bool *failed)
{
	for (size_t i = 0; i < SERVICES; i++)
		json_put_string(object, services[i].key,
				environment_get(environment, services[i].name), failed);
}

/* NULL without memory. */
static cJSON *origin_make(const struct environment *environment)
{
	cJSON *object = cJSON_CreateObject();
	char name[256] = "";
	bool failed = false;

	if (!gethostname(name, sizeof(name) - 1))
		json_put_string(object, "hostname", name, &failed);
	origin_add_boot(object, &failed);
	origin_add_cgroup(object, &failed);
	if (environment->entries) {
		origin_add_kubernetes(object, environment, &failed);
		origin_add_service(object, environment, &failed);
	}
	return json_finish(object, failed);
}

cJSON *origin_note(void)
{
	cJSON *object = origin_make(&own.environment);
	bool failed = false;

	pthread_mutex_lock(&own.lock);
	if (own.host)
		json_put(object, "host", cJSON_Duplicate(own.host, true), &failed);
	json_put_string(object, "machine", own.machine, &failed);
	pthread_mutex_unlock(&own.lock);
	return json_finish(object, failed);
}

static const char *text_of(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}

int origin_version(char out[ORIGIN_VERSION_MAX], const cJSON *origin)
{
	return origin_find_version(out, text_of(origin, "attributes"));
}

void origin_hostname(char out[ORIGIN_HOST_MAX], const cJSON *origin)
{
	snprintf(out, ORIGIN_HOST_MAX, "%s", text_of(origin, "hostname"));
}

/* True if HOST, this machine, also describes ORIGIN. An EC2 instance is the whole machine; an
 * ECS task is one container, so the host names must match too. */
static bool origin_is_here(const cJSON *origin, const struct host *host)
{
	cJSON *here = origin_make(&(struct environment){ NULL });
	const char *boot = text_of(here, "boot");
	bool one = boot[0] && !strcmp(boot, text_of(origin, "boot")) &&
		   (host->kind == HOST_EC2 ||
		    !strcmp(text_of(here, "hostname"), text_of(origin, "hostname")));

	cJSON_Delete(here);
	return one;
}

cJSON *origin_of(const struct report *report, const struct environment *environment,
		 const struct host *host)
{
	cJSON *object = report->origin ? cJSON_Parse(report->origin) : origin_make(environment);
	bool failed = false;

	if (host->object && !cJSON_GetObjectItemCaseSensitive(object, "host") &&
	    (!report->origin || origin_is_here(object, host)))
		json_put(object, "host", cJSON_Duplicate(host->object, true), &failed);
	return json_finish(object, failed);
}

int origin_machine(struct buf *out, const struct report *report, const struct host *host)
{
	static const struct host unknown = { .kind = HOST_UNKNOWN };
	cJSON *origin;
	const char *machine;
	int err;

	if (!report->origin)
		return host_machine(host, out);
	origin = cJSON_Parse(report->origin);
	machine = text_of(origin, "machine");
	/* The form of host_machine(): one path segment. The note may be written by another
	 * process. */
	if (untrusted_is_valid(UNTRUSTED_MACHINE, machine) && !strchr(machine, '/'))
		err = buf_append_string(out, machine);
	else
		err = host_machine(origin_is_here(origin, host) ? host : &unknown, out);
	cJSON_Delete(origin);
	return err;
}
