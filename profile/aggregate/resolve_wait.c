/* Resolver of waits: what the thread of a wall-clock sample did. */
#include "profile/aggregate/resolve_wait.h"

#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/filter.h"
#include "profile/aggregate/resolve.h"
#include "profile/aggregate/resolve_frame.h"
#include "profile/aggregate/wait_guess.h"
#include "profile/basics/text.h"

/* Of keys that are texts of looks, and not constants. */
#define KEY_OF_LOOK (UINT64_C(1) << 63)

static int64_t ns_to_ticks(const struct resolve *r, int64_t ns)
{
	double ticks = (double)ns / ns_per_tick(&r->chunk->header);

	return ticks < 4e18 ? (int64_t)ticks : INT64_MAX / 2;
}

void resolve_use_looks(struct resolve *r, const struct wait_looks *looks,
		       const struct feed_chunk *from)
{
	r->looks = looks;
	r->looks_file = looks ? wait_looks_file(looks, from->file) : 0;
}

int64_t resolve_looks_within_ns(const struct settings *settings)
{
	int64_t interval_ns =
		settings->wall_interval_ns ? settings->wall_interval_ns : settings->cpu_interval_ns;

	return interval_ns > 0 && interval_ns < 1000000000 ? interval_ns : 1000000000;
}

int resolve_read_stacks(struct resolve *r, int64_t interval_ns)
{
	return r->looks_file ? thread_stacks_read(&r->stacks, r->chunk, ns_to_ticks(r, interval_ns))
			     : 0;
}

static const char *look_lines(const struct resolve *r, uint64_t key)
{
	return intern_text(&r->looks->texts, (uint32_t)(key & ~KEY_OF_LOOK));
}

uint64_t resolve_owner_stack_key(struct resolve *r, const struct jfr_event *event, uint64_t key,
				 int64_t within_ns)
{
	uint64_t recorded = (uint64_t)event->slot[JFR_OWNER_STACK];
	const char *owner;

	if (recorded || !(key & KEY_OF_LOOK))
		return recorded;
	owner = text_find_line(look_lines(r, key), "owner", true);
	return owner ? thread_stacks_find(&r->stacks, (uint32_t)strtoul(owner, NULL, 10),
					  event->slot[JFR_TIME], ns_to_ticks(r, within_ns))
		     : 0;
}

/* Returns the thread ID of the chunk's thread KEY. */
static uint32_t resolve_tid(struct resolve *r, uint64_t key)
{
	struct jfr_value value, field;

	if (key == r->tid_key)
		return r->tid;
	r->tid_key = key;
	r->tid = (uint32_t)key;
	if (r->thread_type && jfr_constant_get(r->chunk, r->thread_type, key, &value) &&
	    jfr_value_get_field(r->chunk, &value, "osThreadId", &field) &&
	    jfr_value_integer(&field))
		r->tid = (uint32_t)jfr_value_integer(&field);
	return r->tid;
}

static enum wait_state recorded_state(const struct resolve *r, uint64_t state)
{
	return state < sizeof(r->states) ? (enum wait_state)r->states[state] : WAIT_UNKNOWN;
}

uint64_t resolve_wait_key(struct resolve *r, const struct jfr_event *event, int64_t within_ns)
{
	uint64_t wait = (uint64_t)event->slot[JFR_WAIT];
	enum wait_state state = recorded_state(r, (uint64_t)event->slot[JFR_STATE]);
	uint32_t text;

	if (wait || !r->looks_file || !state)
		return wait & ~KEY_OF_LOOK;
	text = wait_looks_find(r->looks, r->looks_file,
			       resolve_tid(r, (uint64_t)event->slot[JFR_THREAD]),
			       ticks_to_ns(&r->chunk->header, event->slot[JFR_TIME]), within_ns,
			       state == WAIT_WAITING);
	return text ? KEY_OF_LOOK | text : 0;
}

/* Returns the wait of the constant KEY, without an owner's stack, as an ID; 0 if there is none. */
static uint32_t resolve_description(struct resolve *r, uint64_t key)
{
	struct jfr_constant *constant =
		key && r->wait_type ? jfr_pool_find(&r->wait_type->pool, key) : NULL;
	struct wait wait;
	const char *lines;

	if (!constant)
		return 0;
	if (constant->memo)
		return constant->memo;
	lines = resolve_lines(r, r->wait_type, key);
	wait_parse(&wait, lines ? lines : "", &r->profile->names);
	constant->memo = intern(&r->profile->waits, &wait, sizeof(wait));
	return constant->memo;
}

/* Add the function of STORED to GUESS. */
static void guess_add_frame(struct resolve *r, struct wait_guess *guess,
			    const struct stored_frame *stored)
{
	struct jfr_value method, class, name;
	const char *library, *function;

	buf_reset(&r->text);
	buf_reset(&r->text2);
	if (!jfr_constant_get(r->chunk, r->method_type, stored->method, &method) ||
	    !jfr_value_get_field(r->chunk, &method, "name", &name) ||
	    !jfr_value_append_string(r->chunk, &name, &r->text))
		return;
	if (jfr_value_get_field(r->chunk, &method, "type", &class))
		resolve_class_text(r, &class, &r->text2);
	function = buf_string(&r->text);
	library = buf_string(&r->text2);
	if (function && library)
		wait_guess_add(guess, function, library,
			       resolve_frame_type(r, stored) == JFR_FRAME_KERNEL);
}

static void guess_cause(struct resolve *r, uint64_t stack, struct wait_guess *guess)
{
	struct jfr_value value, frames;
	struct stored_frame stored;
	struct cursor c;
	uint64_t count;

	*guess = (struct wait_guess){ 0 };
	if (!jfr_constant_get(r->chunk, r->stack_type, stack, &value) ||
	    !jfr_value_get_field(r->chunk, &value, "frames", &frames))
		return;
	c = (struct cursor){ frames.at, frames.end, false };
	count = cursor_varint(&c);
	for (uint64_t i = 0; i < count && i < WAIT_GUESS_FRAMES && !c.bad; i++) {
		stored_frame_read(&stored, &c, frames.type);
		if (!c.bad)
			guess_add_frame(r, guess, &stored);
	}
}

/* Whether the lock's form, of which the look took the owner in LINES, fits the function that waits. */
static bool owner_fits(const char *lines, const struct wait_guess *guess)
{
	const char *function = text_find_line(lines, WAIT_OWNER_IN, true);

	return function && guess->function && strlen(guess->function) == strcspn(function, "\n") &&
	       !strncmp(function, guess->function, strlen(guess->function));
}

/* Set WAIT to the text of a look. It was not at the moment of the sample: the functions of the stack decide whether it
 * found the same wait. */
static bool join_look(struct resolve *r, const struct stored_wait *stored, struct wait *wait)
{
	const char *lines = look_lines(r, stored->wait);
	struct wait_guess guess;
	const char *call;

	wait_parse(wait, lines, &r->profile->names);
	if (wait->state != WAIT_WAITING)
		return true;
	call = intern_text(&r->profile->names, wait->call);
	guess_cause(r, stored->stack, &guess);
	if (!wait_guess_refine(&guess, &wait->cause, !strcmp(call, "futex")))
		return false;
	if (!strncmp(intern_text(&r->profile->names, wait->on), "lock ", 5) &&
	    wait->cause != WAIT_LOCK)
		wait->on = 0;
	if (wait->cause != WAIT_LOCK || !owner_fits(lines, &guess))
		wait->owner = 0;
	return true;
}

/* Derive WAIT from the thread state and the stack. A recorded state does not say whether a runnable
 * thread had a processor. */
static void derive_wait(struct resolve *r, const struct stored_wait *stored, struct wait *wait)
{
	struct wait_guess guess;

	*wait = (struct wait){ .is_derived = true };
	wait->state = recorded_state(r, stored->state);
	if (wait->state != WAIT_WAITING)
		return;
	guess_cause(r, stored->stack, &guess);
	wait->cause = guess.cause;
	if (guess.call)
		wait->call = intern_string(&r->profile->names, guess.call);
}

/* Remove the parts of WAIT that the query does not store. */
static void remove_parts(struct resolve *r, const struct stored_wait *stored, struct wait *wait)
{
	enum wait_parts parts = r->query->waits;

	if (parts < WAIT_PARTS_OBJECT)
		wait->on = 0;
	/* Formats of other tools have no attribute for these, and must not have two samples with
	 * equal attributes. */
	if (parts < WAIT_PARTS_OWNER && !r->query->wait_guesses)
		wait->is_derived = 0;
	if (parts < WAIT_PARTS_OWNER)
		wait->call = wait->owner = 0;
	else if (stored->owner_stack && (wait->owner || !(stored->wait & KEY_OF_LOOK)))
		wait->owner_stack = resolve_stack(r, stored->owner_stack, 0, JFR_FRAME_NATIVE);
}

uint32_t resolve_wait(struct resolve *r, const struct stored_wait *stored)
{
	bool is_look = stored->wait & KEY_OF_LOOK;
	uint32_t id = is_look ? 0 : resolve_description(r, stored->wait);
	struct wait wait = *(const struct wait *)intern_key(&r->profile->waits, id);

	if (is_look ? !join_look(r, stored, &wait) : !wait.state)
		derive_wait(r, stored, &wait);
	if (!wait.state)
		return 0;
	remove_parts(r, stored, &wait);
	return intern(&r->profile->waits, &wait, sizeof(wait));
}
