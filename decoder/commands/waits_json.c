/* JSON output of the command waits. */
#include "decoder/commands/waits_print.h"

#include <errno.h>
#include <stdlib.h>

#include "decoder/commands/top_table.h"
#include "profile/aggregate/functions.h"
#include "profile/basics/text.h"

static void print_text(const char *name, const char *text)
{
	printf(",\"%s\":", name);
	json_string(stdout, text);
}

static int print_locations(const struct waits *w, const struct wait_group *group)
{
	struct functions functions;
	uint32_t rows = w->args->locations;

	if (wait_group_functions(&functions, &w->groups, group->id))
		return -ENOMEM;
	if (!rows || rows > functions.count)
		rows = functions.count;
	printf(",\"locations\":[");
	for (uint32_t i = 0; i < rows; i++) {
		const struct function *f = &functions.list[i];

		printf("%s{\"name\":", i ? "," : "");
		json_string(stdout, intern_text(&w->profile->names, f->name));
		print_text("module", intern_text(&w->profile->names, f->module));
		top_table_json_number("weight", f->own);
		putchar('}');
	}
	putchar(']');
	functions_free(&functions);
	return 0;
}

/* Print the members of a wait: cause, call, object. */
static void print_wait(const struct waits *w, const struct wait *wait)
{
	const struct intern *names = &w->profile->names;

	print_text("cause", jfr_wait_causes[wait->cause]);
	print_text("call", intern_text(names, wait->call));
	print_text("on", intern_text(names, wait->on));
}

static void print_thread(const struct waits *w, const char *name, uint32_t thread)
{
	char text[256] = "";

	if (thread)
		profile_thread_name(w->profile, thread, text, sizeof(text));
	print_text(name, text);
}

/* Print the owner of a lock, and what it waits for itself, if that is known. */
static void print_owner(const struct waits *w, const struct wait_owner *owner)
{
	const struct profile *p = w->profile;
	const struct sample *s = &p->samples[owner->sample];
	uint32_t next = w->chains.next[owner->sample];

	printf("{\"function\":");
	json_string(stdout, profile_frame_name(p, owner->frame));
	print_thread(w, "thread",
		     thread_index_find(&w->groups.threads_by_id, p, s->thread,
				       profile_wait(p, s->wait)->owner));
	print_text("on", intern_text(&p->names, owner->on));
	top_table_json_number("weight", owner->weight);
	if (next) {
		printf(",\"waits_for\":{\"state\":\"waiting\"");
		print_wait(w, profile_wait(p, p->samples[next - 1].wait));
		putchar('}');
	}
	putchar('}');
}

static int print_owners(const struct waits *w, const struct wait_group *group)
{
	struct wait_owner *list;
	double unknown;
	uint32_t count;

	if (wait_owners_list(&w->groups, group->id, &list, &count, &unknown))
		return -ENOMEM;
	printf(",\"owners\":[");
	for (uint32_t i = 0; i < count; i++) {
		fputs(i ? "," : "", stdout);
		print_owner(w, &list[i]);
	}
	putchar(']');
	top_table_json_number("owner_unknown", unknown);
	free(list);
	return 0;
}

static int print_group(const struct waits *w, const struct wait_group *group)
{
	printf("{\"name\":");
	json_string(stdout, intern_text(&w->groups.names, group->id));
	print_text("state", jfr_wait_states[group->state]);
	print_text("cause", jfr_wait_causes[group->cause]);
	top_table_json_number("weight", group->weight);
	top_table_json_number("samples", group->samples);
	top_table_json_number("threads", group->threads);
	top_table_json_number("running", group->states[WAIT_RUNNING]);
	top_table_json_number("runnable", group->states[WAIT_RUNNABLE]);
	top_table_json_number("waiting", group->states[WAIT_WAITING]);
	if (print_locations(w, group) || print_owners(w, group))
		return -ENOMEM;
	putchar('}');
	return 0;
}

static void print_deadlock(const struct waits *w, uint32_t number)
{
	const struct profile *p = w->profile;
	uint32_t first = wait_chains_first(&w->chains, number), i = first;

	do {
		const struct sample *s = &p->samples[i];

		printf("%s{\"function\":", i == first ? "[" : ",");
		json_string(stdout, profile_frame_name(p, wait_own_frame(p, s->stack)));
		print_thread(w, "thread", s->thread);
		print_wait(w, profile_wait(p, s->wait));
		putchar('}');
		i = w->chains.next[i] - 1;
	} while (i != first);
	putchar(']');
}

int waits_print_json(const struct waits *w)
{
	int err = 0;

	printf("{\"by\":\"%s\",\"unit\":\"%s\"", wait_by_names[w->groups.by],
	       w->groups.by_total ? "nanoseconds" : "samples");
	top_table_json_number("weight", w->groups.weight);
	top_table_json_number("threads", w->groups.threads);
	top_table_json_number("running", w->groups.states[WAIT_RUNNING]);
	top_table_json_number("runnable", w->groups.states[WAIT_RUNNABLE]);
	top_table_json_number("waiting", w->groups.states[WAIT_WAITING]);
	top_table_json_number("unknown", w->groups.states[WAIT_UNKNOWN]);
	top_table_json_number("exact_share", w->exact);
	top_table_json_number("derived", w->groups.derived);
	if (w->times->is_throttling_known)
		top_table_json_number("throttled", w->times->throttled_ns);
	else
		printf(",\"throttled\":null");
	printf(",\"groups\":[");
	for (uint32_t i = 0; i < args_limit(w->args, w->groups.count) && !err; i++) {
		fputs(i ? "," : "", stdout);
		err = print_group(w, &w->groups.list[i]);
	}
	printf("],\"deadlocks\":[");
	for (uint32_t number = 1; number <= w->chains.deadlocks; number++) {
		fputs(number > 1 ? "," : "", stdout);
		print_deadlock(w, number);
	}
	printf("],\"losses\":");
	losses_json(stdout, &w->profile->losses);
	printf("}\n");
	return err;
}
