/* Text output of the command waits. */
#include "decoder/commands/waits_print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/commands/top_table.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/functions.h"
#include "profile/basics/text.h"
#include "profile/waits/wait_text.h"

/* Owners and other causes with a smaller share of a group are not printed. */
#define OWNER_SHARE_MIN 0.01

#define OWNERS_MAX 5

/* Steps of a chain that are printed. */
#define CHAIN_MAX 8

static const char *amount(const struct waits *w, char text[TEXT_NUMBER], double weight)
{
	if (weight <= 0)
		return "0";
	return text_amount(text, weight, w->groups.by_total ? "nanoseconds" : "samples");
}

static void print_header(const struct waits *w)
{
	const struct profile *p = w->profile;
	const struct wait_groups *g = &w->groups;
	char number[TEXT_NUMBER];

	printf("wall: %s of %u thread%s", amount(w, number, g->weight), g->threads,
	       g->threads == 1 ? "" : "s");
	if (p->end_ns > p->start_ns)
		printf(" in %s", text_duration(number, (double)(p->end_ns - p->start_ns)));
	printf(": %s waiting", amount(w, number, g->states[WAIT_WAITING]));
	printf(", %s in the run queue", amount(w, number, g->states[WAIT_RUNNABLE]));
	printf(", %s running\n", amount(w, number, g->states[WAIT_RUNNING]));
	if (w->exact > 0)
		printf("times of states are exact for %.0f%% of this: samples are scaled to the "
		       "kernel's counts\n",
		       100 * w->exact);
	if (g->derived > 0)
		printf("states and causes are derived from stacks for %.0f%% of this: the "
		       "recording does not have them\n",
		       top_percent_of(g->derived, g->weight));
}

/* Print a line for a part of a group without a name of its own. */
static void print_rest(const struct waits *w, const struct wait_group *group, double rest,
		       const char *text)
{
	char number[TEXT_NUMBER];

	if (rest > group->weight / 100)
		printf("%12s %4.0f%%  %s\n", amount(w, number, rest),
		       top_percent_of(rest, group->weight), text);
}

static int print_locations(const struct waits *w, const struct wait_group *group)
{
	struct functions functions;
	char number[TEXT_NUMBER];
	double others = 0, rest = group->weight;
	uint32_t rows = w->args->locations;

	if (wait_group_functions(&functions, &w->groups, group->id))
		return -ENOMEM;
	for (uint32_t i = 0; i < functions.count; i++) {
		const struct function *f = &functions.list[i];

		rest -= f->own;
		others += rows && i >= rows ? f->own : 0;
		if (rows && i >= rows)
			continue;
		printf("%12s %4.0f%%  ", amount(w, number, f->own),
		       top_percent_of(f->own, group->weight));
		top_print_function(top_function_name(w->profile, f),
				   intern_text(&w->profile->names, f->module), w->width, 20,
				   w->args->full_names, STYLE_OWN);
	}
	functions_free(&functions);
	print_rest(w, group, others, "others (--locations 0 shows all)");
	print_rest(w, group, rest, "no function of the program");
	return 0;
}

static void print_place(const struct waits *w, uint32_t frame, uint32_t thread)
{
	struct buf text = BUF_INIT(1u << 20);

	wait_append_place(&text, w->profile, frame, thread);
	fwrite(text.data, 1, text.length, stdout);
	buf_free(&text);
}

/* What a lock's owner did meanwhile, by cause; before the object of its wait, if that is known. */
static const struct {
	const char *text, *before_object;
} meanwhile[WAIT_CAUSES] = {
#define CAUSE(constant, name, class, meaning, alone, before) [WAIT_##constant] = { alone, before },
	WAIT_CAUSE_TABLE(CAUSE)
#undef CAUSE
};

/* Print "waited for a file, /var/log/app.log". */
static void print_meanwhile(const struct waits *w, const struct wait *wait)
{
	const char *object = intern_text(&w->profile->names, wait->on);

	if (!*object && wait->cause == WAIT_SYSCALL)
		object = intern_text(&w->profile->names, wait->call);
	fputs(meanwhile[wait->cause].text, stdout);
	if (*object)
		printf("%s %s", meanwhile[wait->cause].before_object, wait_lock_name(object));
}

/* Print the waits of the chain that follows sample I: what the owner waits for, and so on. */
static void print_chain(const struct waits *w, uint32_t i)
{
	const struct profile *p = w->profile;

	for (unsigned steps = 0; w->chains.next[i] && steps < CHAIN_MAX; steps++) {
		const struct sample *s = &p->samples[w->chains.next[i] - 1];
		const struct wait *wait = profile_wait(p, s->wait);

		i = (uint32_t)(s - p->samples);
		fputs(steps ? ", which " : "; it ", stdout);
		print_meanwhile(w, wait);
		if (!wait->owner)
			return;
		fputs(", held by ", stdout);
		print_place(w, wait_own_frame(p, wait->owner_stack),
			    thread_index_find(&w->groups.threads_by_id, p, s->thread, wait->owner));
		if (w->chains.deadlock[i])
			return;
	}
}

/* Print "joins thread 12, in crunch, during". */
static void print_joined(const struct waits *w, const struct wait_owner *owner)
{
	const struct profile *p = w->profile;

	printf("joins %s", intern_text(&p->names, owner->on));
	if (owner->frame)
		printf(", in %s,", profile_frame_name(p, owner->frame));
	fputs(" during", stdout);
}

/* Print "flush_log held log_mutex during". */
static void print_holder(const struct waits *w, const struct wait_owner *owner, uint32_t thread,
			 bool is_gil)
{
	const char *on = intern_text(&w->profile->names, owner->on);

	if (owner->frame)
		fputs(profile_frame_name(w->profile, owner->frame), stdout);
	else
		print_place(w, 0, thread);
	printf(" held %s during", *on ? wait_lock_name(on) : is_gil ? "the GIL" : "it");
}

static void print_owner(const struct waits *w, const struct wait_group *group,
			const struct wait_owner *owner)
{
	const struct profile *p = w->profile;
	const struct sample *s = &p->samples[owner->sample];
	const struct wait *wait = profile_wait(p, s->wait);
	uint32_t thread = thread_index_find(&w->groups.threads_by_id, p, s->thread, wait->owner);

	fputs("  ", stdout);
	if (wait->cause == WAIT_CHILD)
		print_joined(w, owner);
	else
		print_holder(w, owner, thread, wait->cause == WAIT_GIL);
	printf(" %.0f%% of this", top_percent_of(owner->weight, group->weight));
	print_chain(w, owner->sample);
	putchar('\n');
}

static int print_owners(const struct waits *w, const struct wait_group *group)
{
	struct wait_owner *list;
	double unknown;
	uint32_t count;

	if (wait_owners_list(&w->groups, group->id, &list, &count, &unknown))
		return -ENOMEM;
	for (uint32_t i = 0; i < count && i < OWNERS_MAX; i++)
		if (list[i].weight >= OWNER_SHARE_MIN * group->weight)
			print_owner(w, group, &list[i]);
	if (unknown >= OWNER_SHARE_MIN * group->weight)
		printf("  the owner is unknown for %.0f%% of this\n",
		       top_percent_of(unknown, group->weight));
	free(list);
	return 0;
}

/* Print one line for each deadlock: its parts in the order of the waits. */
static void print_deadlocks(const struct waits *w)
{
	const struct profile *p = w->profile;

	for (uint32_t number = 1; number <= w->chains.deadlocks; number++) {
		uint32_t first = wait_chains_first(&w->chains, number), i = first;

		printf("%sdeadlock:%s ", terminal_style(STYLE_STOP), terminal_style(STYLE_NONE));
		do {
			const struct sample *s = &p->samples[i];

			fputs(i == first ? "" : "; ", stdout);
			print_place(w, wait_own_frame(p, s->stack), s->thread);
			printf(" waits for %s of ",
			       wait_lock_name(
				       intern_text(&p->names, profile_wait(p, s->wait)->on)));
			i = w->chains.next[i] - 1;
			print_place(w, wait_own_frame(p, p->samples[i].stack),
				    p->samples[i].thread);
		} while (i != first);
		putchar('\n');
	}
}

static void print_row(const struct waits *w, const struct wait_group *group)
{
	char number[TEXT_NUMBER];

	printf("%10s %6.1f%% %8u  ", amount(w, number, group->weight),
	       top_percent_of(group->weight, w->groups.weight), group->threads);
	if (w->groups.by == WAIT_BY_THREAD)
		for (unsigned state = WAIT_RUNNING; state <= WAIT_WAITING; state++)
			printf("%9s ", amount(w, number, group->states[state]));
	text_print_name(stdout, intern_text(&w->groups.names, group->id),
			w->args->full_names || w->width <= 32 ? 0 : w->width - 30);
	putchar('\n');
}

static void print_table(const struct waits *w)
{
	uint32_t rows = args_limit(w->args, w->groups.count);
	char number[TEXT_NUMBER];

	printf("\n%s      time   share  threads  %s%s%s\n", terminal_style(STYLE_HEADING),
	       w->groups.by == WAIT_BY_THREAD ? "  running   in queue   waiting " : "",
	       wait_by_names[w->groups.by], terminal_style(STYLE_NONE));
	for (uint32_t i = 0; i < rows; i++)
		print_row(w, &w->groups.list[i]);
	if (rows < w->groups.count)
		printf("... and %u more (-n 0 shows all)\n", w->groups.count - rows);
	if (w->groups.by == WAIT_BY_CAUSE && w->times->throttled_ns > 0)
		printf("%10s %7s %8s  throttled by the CPU limit (estimate; a part of the "
		       "run queue's time)\n",
		       text_duration(number, w->times->throttled_ns), "", "");
}

static int print_group(const struct waits *w, const struct wait_group *group)
{
	char number[TEXT_NUMBER];
	int err;

	printf("\n%s%s  %s%s\n", terminal_style(STYLE_HEADING),
	       intern_text(&w->groups.names, group->id), amount(w, number, group->weight),
	       terminal_style(STYLE_NONE));
	err = print_locations(w, group);
	return err ? err : print_owners(w, group);
}

/* Returns 1 if neither a function of the program nor an owner of a lock is known in GROUP, 0 if one is, or -ENOMEM. */
static int group_is_anonymous(const struct waits *w, const struct wait_group *group)
{
	struct functions functions;
	struct wait_owner *owners;
	uint32_t count, own;
	double unknown;

	if (wait_group_functions(&functions, &w->groups, group->id))
		return -ENOMEM;
	own = functions.count;
	functions_free(&functions);
	if (own)
		return 0;
	if (wait_owners_list(&w->groups, group->id, &owners, &count, &unknown))
		return -ENOMEM;
	free(owners);
	return !count;
}

/* Print the groups without a function of the program as rows after the others. They are often the longest: threads of a
 * runtime that have no work. */
static int print_groups(const struct waits *w)
{
	const uint32_t count = args_limit(w->args, w->groups.count);
	bool *is_anonymous = calloc(count ? count : 1, sizeof(*is_anonymous)), has_heading = false;
	char number[TEXT_NUMBER];
	int err = is_anonymous ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && err >= 0; i++) {
		err = group_is_anonymous(w, &w->groups.list[i]);
		if (err > 0)
			is_anonymous[i] = true;
		else if (!err)
			err = print_group(w, &w->groups.list[i]);
	}
	for (uint32_t i = 0; i < count && err >= 0; i++) {
		const struct wait_group *group = &w->groups.list[i];

		if (!is_anonymous[i])
			continue;
		if (!has_heading)
			printf("\n%sno function of the program%s\n", terminal_style(STYLE_HEADING),
			       terminal_style(STYLE_NONE));
		has_heading = true;
		printf("%12s  %s\n", amount(w, number, group->weight),
		       intern_text(&w->groups.names, group->id));
	}
	free(is_anonymous);
	return err < 0 ? err : 0;
}

int waits_print_text(const struct waits *w)
{
	print_header(w);
	print_deadlocks(w);
	if (!w->groups.count)
		return 0;
	print_table(w);
	return print_groups(w);
}
