/* Writer of Firefox Profiler's processed profile: the tables that its threads share. */
#include "profile/export/firefox_tables.h"

#include <inttypes.h>
#include <stdlib.h>

#include "profile/basics/text.h"

struct node_key {
	uint32_t prefix, frame; /* prefix: ID in nodes; 0: a root */
};

struct function_key {
	uint32_t name, module, file, is_script;
};

/* Write a column: ITEM(f, id) for each ID from 1 to COUNT. */
static void write_column(struct firefox *f, const char *name, uint32_t count,
			 void (*item)(struct firefox *f, uint32_t id))
{
	fprintf(f->file, "\"%s\":[", name);
	for (uint32_t id = 1; id <= count; id++) {
		if (id > 1)
			fputc(',', f->file);
		item(f, id);
	}
	fputs("],", f->file);
}

static void item_null(struct firefox *f, uint32_t id)
{
	(void)id;
	fputs("null", f->file);
}

static void item_zero(struct firefox *f, uint32_t id)
{
	(void)id;
	fputc('0', f->file);
}

static void item_none(struct firefox *f, uint32_t id)
{
	(void)id;
	fputs("-1", f->file);
}

static void item_false(struct firefox *f, uint32_t id)
{
	(void)id;
	fputs("false", f->file);
}

static void write_number(struct firefox *f, uint32_t number)
{
	fprintf(f->file, "%" PRIu32, number);
}

static uint32_t intern_number(struct firefox *f, struct intern *table, uint32_t number)
{
	uint32_t id = number ? intern(table, &number, sizeof(number)) : 0;

	f->out_of_memory |= number && !id;
	return id;
}

static uint32_t frame_function(struct firefox *f, uint32_t id)
{
	const struct frame *frame = profile_frame(firefox_profile(f), id);
	struct function_key key = { .name = frame->name,
				    .module = frame->module,
				    .file = frame->file,
				    .is_script =
					    jfr_frame_is_script((enum jfr_frame_type)frame->type) };
	uint32_t function = intern(&f->functions, &key, sizeof(key));

	f->out_of_memory |= !function;
	if (key.is_script)
		intern_number(f, &f->sources, key.file ? key.file : key.module);
	else
		intern_number(f, &f->modules, key.module);
	return function;
}

static const struct function_key *function_of(const struct firefox *f, uint32_t id)
{
	return intern_key(&f->functions, id);
}

static void item_frame_category(struct firefox *f, uint32_t id)
{
	write_number(f, profile_frame(firefox_profile(f), id)->category);
}

static void item_frame_function(struct firefox *f, uint32_t id)
{
	write_number(f, frame_function(f, id) - 1);
}

static void item_frame_line(struct firefox *f, uint32_t id)
{
	uint32_t line = profile_frame(firefox_profile(f), id)->line;

	if (line)
		write_number(f, line);
	else
		fputs("null", f->file);
}

static void write_frames(struct firefox *f)
{
	uint32_t count = firefox_profile(f)->frames.count;

	fputs("\"frameTable\":{", f->file);
	write_column(f, "address", count, item_none);
	write_column(f, "lib", count, item_none);
	write_column(f, "inlineDepth", count, item_zero);
	write_column(f, "category", count, item_frame_category);
	write_column(f, "subcategory", count, item_zero);
	write_column(f, "func", count, item_frame_function);
	write_column(f, "nativeSymbol", count, item_null);
	write_column(f, "innerWindowID", count, item_null);
	write_column(f, "line", count, item_frame_line);
	write_column(f, "column", count, item_null);
	write_column(f, "originalLocation", count, item_null);
	fprintf(f->file, "\"length\":%" PRIu32 "},\n", count);
}

static void item_function_name(struct firefox *f, uint32_t id)
{
	write_number(f, function_of(f, id)->name);
}

static void item_function_resource(struct firefox *f, uint32_t id)
{
	const struct function_key *key = function_of(f, id);

	if (key->is_script || !key->module)
		fputs("-1", f->file);
	else
		write_number(f, intern_number(f, &f->modules, key->module) - 1);
}

static void item_function_source(struct firefox *f, uint32_t id)
{
	const struct function_key *key = function_of(f, id);
	uint32_t source = key->file ? key->file : key->module;

	if (!key->is_script || !source)
		fputs("null", f->file);
	else
		write_number(f, intern_number(f, &f->sources, source) - 1);
}

static void write_functions(struct firefox *f)
{
	uint32_t count = f->functions.count;

	fputs("\"funcTable\":{", f->file);
	write_column(f, "name", count, item_function_name);
	write_column(f, "isJS", count, item_false);
	write_column(f, "relevantForJS", count, item_false);
	write_column(f, "resource", count, item_function_resource);
	write_column(f, "source", count, item_function_source);
	write_column(f, "lineNumber", count, item_null);
	write_column(f, "columnNumber", count, item_null);
	write_column(f, "originalLocation", count, item_null);
	fprintf(f->file, "\"length\":%" PRIu32 "},\n", count);
}

static void item_module_name(struct firefox *f, uint32_t id)
{
	write_number(f, *(const uint32_t *)intern_key(&f->modules, id));
}

static void item_source_name(struct firefox *f, uint32_t id)
{
	write_number(f, *(const uint32_t *)intern_key(&f->sources, id));
}

static void item_one(struct firefox *f, uint32_t id)
{
	(void)id;
	fputc('1', f->file);
}

static void write_places(struct firefox *f)
{
	fputs("\"resourceTable\":{", f->file);
	write_column(f, "name", f->modules.count, item_module_name);
	write_column(f, "host", f->modules.count, item_null);
	write_column(f, "type", f->modules.count, item_one);
	fprintf(f->file, "\"length\":%" PRIu32 "},\n\"sources\":{", f->modules.count);
	write_column(f, "id", f->sources.count, item_null);
	write_column(f, "filename", f->sources.count, item_source_name);
	write_column(f, "startLine", f->sources.count, item_one);
	write_column(f, "startColumn", f->sources.count, item_one);
	write_column(f, "sourceMapURL", f->sources.count, item_null);
	write_column(f, "content", f->sources.count, item_null);
	fprintf(f->file,
		"\"length\":%" PRIu32 "},\n"
		"\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		"\"functionSize\":[],\"length\":0},\n"
		"\"sourceLocationTable\":{\"source\":[],\"line\":[],\"column\":[],\"length\":0},\n",
		f->sources.count);
}

/* Add all stacks to the tree of nodes, outermost frames first. */
static void make_nodes(struct firefox *f)
{
	const struct intern *stacks = &firefox_profile(f)->stacks;

	f->leaves = calloc((size_t)stacks->count + 1, sizeof(*f->leaves));
	f->out_of_memory |= !f->leaves;
	for (uint32_t id = 1; id <= stacks->count && f->leaves; id++) {
		struct node_key key = { 0 };
		uint32_t depth;
		const uint32_t *frames = export_stack(f->store, id, &depth);

		for (uint32_t i = depth; i && !f->out_of_memory; i--) {
			key.frame = frames[i - 1];
			key.prefix = intern(&f->nodes, &key, sizeof(key));
			f->out_of_memory |= !key.prefix;
		}
		f->leaves[id] = key.prefix;
	}
}

static const struct node_key *node_of(const struct firefox *f, uint32_t id)
{
	return intern_key(&f->nodes, id);
}

static void item_node_frame(struct firefox *f, uint32_t id)
{
	write_number(f, node_of(f, id)->frame - 1);
}

static void item_node_prefix(struct firefox *f, uint32_t id)
{
	uint32_t prefix = node_of(f, id)->prefix;

	write_number(f, prefix ? id - prefix : 0);
}

void firefox_write_shared(struct firefox *f)
{
	const struct intern *names = &firefox_profile(f)->names;

	make_nodes(f);
	fputs("\"shared\":{\"stackTable\":{", f->file);
	write_column(f, "frame", f->nodes.count, item_node_frame);
	write_column(f, "prefixOffset", f->nodes.count, item_node_prefix);
	fprintf(f->file, "\"length\":%" PRIu32 "},\n", f->nodes.count);
	write_frames(f);
	write_functions(f);
	write_places(f);
	/* Strings are numbered as the profile's names; 0 is "". Marks follow. */
	fputs("\"stringArray\":[\"\"", f->file);
	f->string_count = names->count + 1;
	for (uint32_t id = 1; id <= names->count; id++) {
		fputc(',', f->file);
		json_string(f->file, intern_text(names, id));
	}
	for (int kind = 0; kind < TIMED_MARKS; kind++)
		fprintf(f->file, ",\"%s\"", timed_mark_names[kind]);
	fputs("]},\n", f->file);
}

void firefox_free_tables(struct firefox *f)
{
	intern_free(&f->functions);
	intern_free(&f->modules);
	intern_free(&f->sources);
	intern_free(&f->nodes);
	free(f->leaves);
}
