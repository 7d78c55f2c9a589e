/* Identity of this machine: an EC2 instance, an ECS task, or unknown. */
#ifndef UPLOAD_AWS_HOST_H
#define UPLOAD_AWS_HOST_H

#include "upload/aws/aws.h"

struct cJSON;

enum host_kind { HOST_UNKNOWN, HOST_EC2, HOST_ECS };

struct host {
	enum host_kind kind;
	char *id;             /* instance id or task ARN; NULL: unknown */
	struct cJSON *object; /* the "host" object of metadata.json; NULL: unknown */

	/* Of origin_find_host(). */
	bool is_final; /* not searched any more */
	unsigned int searches;
	int64_t searched_at; /* seconds since 1970: the last search */
};

/* Identify the machine as SETTING says:
 * * "auto" asks IMDSv2, then the ECS agent;
 * * "none" leaves it unknown;
 * * "file:PATH" reads a JSON object; its "ec2_instance_id" or "ecs_task_arn" identifies the machine.
 *
 * Takes a few requests of at most one second each. On failure the machine is unknown; an unreadable
 * file is logged. Returns 0, -ENOENT if "auto" finds no machine, or -EAGAIN if a source failed, so a later call may
 * find one. Release with host_free(). */
int host_find(struct host *out, struct aws *aws, const char *setting);
void host_free(struct host *host);

/* The two sources of "auto". Return 0, -ENOENT if this is not such a machine, or another -errno. */
int host_ec2(struct host *out, struct aws *aws);
int host_ecs(struct host *out, struct aws *aws);

/* Append "ec2_{id}_", "ecs_{ARN}_" or "unknown__"; '/' and '_' in the id become '-'. Returns 0
 * or -errno. */
int host_machine(const struct host *host, struct buf *out);

#endif
