/* Stacks in the layout of the async-profiler Rust agent's decoder. */
#include "decoder/output/raw_stack.h"

#include <string.h>

#include "profile/basics/names.h"
#include "profile/basics/text.h"

#define UNKNOWN "<unknown>"

/* Append the string at VALUE.NAME, or "<unknown>" if there is none. *AT is its offset in the text. */
static bool raw_stack_append_name(struct raw_stack *stack, const struct jfr_chunk *chunk,
				  const struct jfr_value *value, size_t *at)
{
	struct buf name = BUF_INIT(1u << 20);
	struct jfr_value symbol;
	bool ok;

	*at = stack->text.length;
	if (value && jfr_value_get_field(chunk, value, "name", &symbol) &&
	    jfr_value_append_string(chunk, &symbol, &name))
		names_clean(&name);
	else {
		buf_reset(&name);
		buf_append_string(&name, UNKNOWN);
	}
	ok = !buf_append(&stack->text, name.data, name.length) && !buf_append(&stack->text, "", 1);
	buf_free(&name);
	return ok;
}

static bool frame_is_managed(const struct jfr_chunk *chunk, const struct jfr_value *frame)
{
	static const char *const others[] = { "Native", "C++", "Kernel" };
	struct buf words = BUF_INIT(1u << 20);
	struct jfr_value type, description;
	bool managed = jfr_value_get_field(chunk, frame, "type", &type) &&
		       jfr_value_get_field(chunk, &type, "description", &description) &&
		       jfr_value_append_string(chunk, &description, &words) && words.length;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && managed; i++)
		managed = words.length != strlen(others[i]) ||
			  memcmp(words.data, others[i], words.length) != 0;
	buf_free(&words);
	return managed;
}

static bool raw_stack_append_frame(struct raw_stack *stack, const struct jfr_chunk *chunk,
				   const struct jfr_value *frame)
{
	struct raw_frame one = { .managed = frame_is_managed(chunk, frame) };
	struct jfr_value method, class;
	bool has_method = jfr_value_get_field(chunk, frame, "method", &method);
	bool has_class = has_method && jfr_value_get_field(chunk, &method, "type", &class);

	if (!raw_stack_append_name(stack, chunk, has_class ? &class : NULL, &one.class) ||
	    !raw_stack_append_name(stack, chunk, has_method ? &method : NULL, &one.method) ||
	    buf_append(&stack->frames, &one, sizeof(one)))
		return false;
	stack->count++;
	return true;
}

bool raw_stack_read(struct raw_stack *stack, const struct jfr_chunk *chunk,
		    const struct jfr_event *event)
{
	struct jfr_value trace, frames, frame;
	uint64_t count;
	struct cursor c;

	buf_reset(&stack->text);
	buf_reset(&stack->frames);
	stack->count = 0;
	if (!jfr_event_get_field(chunk, event, "stackTrace", &trace) ||
	    !jfr_value_get_field(chunk, &trace, "frames", &frames))
		return true;
	c = (struct cursor){ frames.at, frames.end, false };
	for (count = cursor_varint(&c); count && !c.bad; count--) {
		frame = (struct jfr_value){ frames.type, c.at, frames.end };
		jfr_skip_value(&c, frames.type);
		if (c.bad || c.at == frame.at)
			break;
		if (!raw_stack_append_frame(stack, chunk, &frame))
			return false;
	}
	return true;
}

const char *raw_stack_class(struct raw_stack *stack, size_t index)
{
	const struct raw_frame *frames = (const void *)stack->frames.data;

	return (const char *)stack->text.data + frames[index].class;
}

const char *raw_stack_method(struct raw_stack *stack, size_t index)
{
	const struct raw_frame *frames = (const void *)stack->frames.data;

	return (const char *)stack->text.data + frames[index].method;
}

bool raw_stack_is_managed(struct raw_stack *stack, size_t index)
{
	const struct raw_frame *frames = (const void *)stack->frames.data;

	return frames[index].managed;
}

static void print_frame(FILE *out, struct raw_stack *stack, size_t number, size_t index)
{
	fprintf(out, " - %3zu: %s.%s\n", number, raw_stack_class(stack, index),
		raw_stack_method(stack, index));
}

void raw_stack_print_from(FILE *out, struct raw_stack *stack, size_t first, size_t depth)
{
	size_t count = stack->count - first;

	if (first)
		print_frame(out, stack, 0, 0);
	for (size_t i = 0; i < count; i++) {
		if (i == depth) {
			fprintf(out, " - %3zu more frame(s) (pass --stack-depth=%zu to show)\n",
				count - depth, count);
			break;
		}
		print_frame(out, stack, i + 1, first + i);
	}
	fputc('\n', out);
}

void raw_stack_print(FILE *out, struct raw_stack *stack, size_t depth)
{
	raw_stack_print_from(out, stack, 0, depth);
}

void raw_stack_print_time(FILE *out, const struct jfr_header *header, int64_t ticks)
{
	/* Seconds and fraction are added as doubles, as the Rust decoder does: the last digit is the same. */
	uint64_t ns = (uint64_t)((unsigned __int128)(__int128)ticks * 1000000000u /
				 (unsigned __int128)header->ticks_per_second);

	fprintf(out, "[%.6f]", (double)(ns / 1000000000u) + (double)(ns % 1000000000u) / 1e9);
}

void raw_stack_json(FILE *out, struct raw_stack *stack)
{
	fputc('[', out);
	for (size_t i = 0; i < stack->count; i++) {
		fputs(i ? ",{\"module\":" : "{\"module\":", out);
		json_string(out, raw_stack_class(stack, i));
		fputs(",\"name\":", out);
		json_string(out, raw_stack_method(stack, i));
		fputc('}', out);
	}
	fputc(']', out);
}

void raw_stack_free(struct raw_stack *stack)
{
	buf_free(&stack->text);
	buf_free(&stack->frames);
}
