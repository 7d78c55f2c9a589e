/* Opens the reporters that the settings choose, and the queue before them. */
#include "image/reporters.h"

#include <string.h>

#include "core/log.h"
#include "upload/files/place.h"
#include "upload/queue/origin.h"
#include "upload/queue/queue.h"
#include "upload/queue/store.h"
#include "upload/recover/recover.h"
#include "upload/reporters/reporter_table.h"

int reporters_capture(const struct config *config, char *const *environment)
{
	int err = place_capture(config, environment);

	return err ? err : origin_capture(environment);
}

static int open_all(struct reporter **reporters, size_t *count, const struct config *config)
{
	int err = 0;

	for (size_t i = 0; i < reporter_table_count; i++) {
		int one;

		if (!reporter_table[i].is_wanted(config))
			continue;
		one = reporter_table[i].open(&reporters[*count], config);
		*count += !one;
		err = one ? one : err;
	}
	return err;
}

static void log_recovered(void *context, const struct recover_result *result)
{
	(void)context;
	if (result->outcome == RECOVER_MADE)
		log_info("recovered the last report of process %d, which was killed: %llu samples "
			 "(%s)",
			 (int)result->report->pid,
			 (unsigned long long)result->report->samples_taken, result->made);
	else if (result->outcome == RECOVER_DAMAGED || result->outcome == RECOVER_FAILED)
		log_warn("cannot recover %s: %s", result->name,
			 result->outcome == RECOVER_DAMAGED ? "it is damaged, and removed"
							    : strerror(-result->err));
}

struct continue_check {
	bool (*may_continue)(void *context);
	void *context;
};

static bool may_continue(void *context)
{
	struct continue_check *check = context;

	return check->may_continue(check->context);
}

/* Further notes are left for the next run. */
#define NOTES_MAX 4096

static int recover(int dir, bool (*may)(void *context), void *context)
{
	struct continue_check check = { may, context };
	const struct recover_how how = {
		.out = -1,
		.max_names = NOTES_MAX,
		.go_on = may_continue,
		.on_result = log_recovered,
		.context = &check,
	};

	return recover_spool(dir, &how);
}

int reporters_open(struct reporter **out, const struct config *config)
{
	struct reporter *reporters[REPORTERS_MAX];
	size_t count = 0;
	int err = open_all(reporters, &count, config);

	if (!count)
		return err;
	err = queue_open(out, reporters, count, config);
	if (err) {
		log_error("no reports are kept for delivery: %s", strerror(-err));
		for (size_t i = 0; i < count; i++)
			reporters[i]->close(reporters[i]);
	} else {
		queue_recover_by(*out, recover);
	}
	return err;
}
