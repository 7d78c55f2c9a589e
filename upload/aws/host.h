/* Which machine this is: an EC2 instance, an ECS task, or one that nobody knows. */
#ifndef UPLOAD_AWS_HOST_H
#define UPLOAD_AWS_HOST_H

#include "upload/aws/aws.h"

struct cJSON;

enum host_kind { HOST_UNKNOWN, HOST_EC2, HOST_ECS };

struct host {
	enum host_kind kind;
	char *id;             /* instance id or task ARN; NULL where unknown */
	struct cJSON *object; /* what is written into metadata.json; NULL where nothing is known */
};

/* Find out as SETTING says: "auto" asks IMDSv2, then the ECS agent; "none" knows nothing;
 * "file:PATH" takes the JSON object in that file, whose "ec2_instance_id" or "ecs_task_arn"
 * then names the machine. Takes the time of some requests of one second at most. What cannot
 * be found is unknown; a file that cannot be read gets a line in the log. */
void host_find(struct host *out, struct aws *aws, const char *setting);
void host_free(struct host *host);

/* The two that "auto" asks: 0, -ENOENT where this is no such machine, or -errno. */
int host_ec2(struct host *out, struct aws *aws);
int host_ecs(struct host *out, struct aws *aws);

/* "ec2_{id}_", "ecs_{ARN}_" or "unknown__", '/' and '_' in the id replaced by '-'. */
int host_machine(const struct host *host, struct buf *out);

#endif
