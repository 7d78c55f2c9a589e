/* AWS region of the requests. */
#include "upload/aws/region.h"

#include <stdlib.h>
#include <string.h>

#include "upload/aws/imds.h"
#include "upload/files/untrusted.h"

/* The region becomes part of host names. Takes ownership of REGION, malloc'd or NULL. */
static char *region_check(struct aws *aws, char *region)
{
	if (!region || untrusted_is_valid(UNTRUSTED_REGION, region))
		return region;
	aws_warn(aws, "'%.80s' is not the name of a region; it is ignored", region);
	free(region);
	return NULL;
}

const char *aws_region(struct aws *aws)
{
	/* In the order of the AWS CLI's documentation; both come before the profile. */
	static const char *const names[] = { "AWS_REGION", "AWS_DEFAULT_REGION" };

	if (aws->region)
		return aws->region;
	if (aws->found_region)
		return aws->found_region;
	for (size_t i = 0; i < 2 && !aws->found_region; i++) {
		const char *value = environment_get(aws->environment, names[i]);

		aws->found_region = region_check(aws, value ? strdup(value) : NULL);
	}
	if (!aws->found_region)
		aws->found_region =
			region_check(aws, aws_profile_get(aws, aws_profile(aws), "region"));
	if (!aws->found_region)
		aws->found_region = region_check(aws, imds_region(aws));
	return aws->found_region;
}

const char *aws_domain(const char *region)
{
	return strncmp(region, "cn-", 3) != 0 ? "amazonaws.com" : "amazonaws.com.cn";
}
