/* Search for V8 in this process: in node's executable, or in libnode. */
#include "engine/runtime/v8/v8_find.h"

#include <errno.h>

#include "engine/elf/image_symbols.h"
#include "engine/runtime/runtime_image.h"

/* Constants that V8 exports for debuggers: tools/gen-postmortem-metadata.py in its sources. Each
 * name follows v8dbg_; the names that one member had in successive versions are in one row. */
enum size { BYTE, HALF };

static const struct row {
	const char *name;
	enum size size;
	uint16_t offset; /* in struct v8_layout */
} rows[] = {
#define TYPE(member, name)                                                   \
	{                                                                    \
		"v8dbg_type_" name, HALF, offsetof(struct v8_layout, member) \
	}
#define PLACE(member, name)                                                   \
	{                                                                     \
		"v8dbg_class_" name, BYTE, offsetof(struct v8_layout, member) \
	}
	TYPE(first_function, "JSFunction__JS_FUNCTION_TYPE"),
	{ "v8dbg_FirstJSFunctionType", HALF, offsetof(struct v8_layout, first_function) },
	{ "v8dbg_LastJSFunctionType", HALF, offsetof(struct v8_layout, last_function) },
	{ "v8dbg_FirstContextType", HALF, offsetof(struct v8_layout, first_context) },
	{ "v8dbg_LastContextType", HALF, offsetof(struct v8_layout, last_context) },
	TYPE(shared_info, "SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"),
	TYPE(script, "Script__SCRIPT_TYPE"),
	TYPE(scope_info, "ScopeInfo__SCOPE_INFO_TYPE"),
	TYPE(bytecode_array, "BytecodeArray__BYTECODE_ARRAY_TYPE"),
	TYPE(code, "Code__CODE_TYPE"),
	TYPE(instruction_stream, "InstructionStream__INSTRUCTION_STREAM_TYPE"),
	TYPE(fixed_array, "FixedArray__FIXED_ARRAY_TYPE"),
	TYPE(weak_fixed_array, "WeakFixedArray__WEAK_FIXED_ARRAY_TYPE"),
	TYPE(byte_array, "ByteArray__BYTE_ARRAY_TYPE"),
	TYPE(trusted_byte_array, "TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"),
	TYPE(trusted_fixed_array, "TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE"),
	TYPE(trusted_weak_fixed_array, "TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY_TYPE"),
	TYPE(protected_fixed_array, "ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE"),
	PLACE(map_instance_type, "Map__instance_type__uint16_t"),
	PLACE(function_shared, "JSFunction__shared__SharedFunctionInfo"),
	PLACE(shared_name, "SharedFunctionInfo__name_or_scope_info__Object"),
	PLACE(shared_name, "SharedFunctionInfo__name_or_scope_info__Tagged_Object_"),
	PLACE(shared_name, "SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"),
	PLACE(shared_script, "SharedFunctionInfo__script_or_debug_info__HeapObject"),
	PLACE(shared_script, "SharedFunctionInfo__script__Tagged_HeapObject_"),
	PLACE(script_source, "Script__source__Object"),
	PLACE(script_name, "Script__name__Object"),
	PLACE(script_line_ends, "Script__line_ends__Object"),
	PLACE(bytecode_data, "BytecodeArray__data__uintptr_t"),
#undef TYPE
#undef PLACE
};

/* Facts that V8 does not export, for each version that was examined in a running node:
 * src/objects/code.h, code-kind.h, deoptimization-data.h, bytecode-array.h, script.h and
 * scope-info.tq of that version. */
static const struct v8_layout versions[] = {
	/* node 18 */
	{ .version = 0x0a02,
	  .script_line_offset = 24,
	  .script_id = 64,
	  .bytecode_positions = 32,
	  .code_deopt = 16,
	  .code_positions = 24,
	  .code_size = 40,
	  .code_flags = 48,
	  .stream_bytes = 128,
	  .kind_baseline = 11,
	  .kind_mask = 15,
	  .deopt_literals = 2,
	  .deopt_positions = 7 },
	/* node 20 */
	{ .version = 0x0b03,
	  .script_line_offset = 24,
	  .script_id = 64,
	  .bytecode_positions = 32,
	  .code_deopt = 16,
	  .code_positions = 24,
	  .code_start = 40,
	  .code_flags = 48,
	  .code_size = 56,
	  .stream_bytes = 16,
	  .stream_code = 8,
	  .kind_baseline = 11,
	  .kind_mask = 15,
	  .deopt_literals = 2,
	  .deopt_positions = 7 },
	/* node 22 */
	{ .version = 0x0c04,
	  .script_line_offset = 24,
	  .script_id = 64,
	  .bytecode_positions = 24,
	  .code_deopt = 8,
	  .code_positions = 16,
	  .code_start = 40,
	  .code_flags = 48,
	  .code_size = 52,
	  .stream_bytes = 32,
	  .stream_code = 8,
	  .kind_baseline = 10,
	  .kind_mask = 15,
	  .deopt_literals = 2,
	  .deopt_positions = 7 },
	/* node 24 */
	{ .version = 0x0d06,
	  .script_line_offset = 24,
	  .script_id = 64,
	  .bytecode_positions = 24,
	  .code_deopt = 8,
	  .code_positions = 16,
	  .code_start = 40,
	  .code_flags = 52,
	  .code_size = 56,
	  .stream_bytes = 32,
	  .stream_code = 8,
	  .kind_baseline = 10,
	  .kind_mask = 15,
	  .deopt_literals = 3,
	  .deopt_positions = 8,
	  .scope_positions_first = true },
};

/* In those versions the types of functions had no bounds: this number of types is adjacent. */
#define FUNCTION_TYPES_BEFORE 15

static int find_version(struct v8_layout *layout, struct elf *image, uintptr_t bias)
{
	int32_t major, minor;
	int err = runtime_image_constant(image, bias, "_ZN2v88internal7Version6major_E", &major);

	if (!err)
		err = runtime_image_constant(image, bias, "_ZN2v88internal7Version6minor_E",
					     &minor);
	if (err)
		return err;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (versions[i].version == (major << 8 | minor)) {
			*layout = versions[i];
			return 0;
		}
	return -ENOTSUP;
}

static void find_layout(struct v8_layout *layout, struct elf *image, uintptr_t bias)
{
	uint8_t *bytes = (uint8_t *)layout;
	int32_t value;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (runtime_image_constant(image, bias, rows[i].name, &value))
			continue;
		if (rows[i].size == BYTE && value > 0 && value <= UINT8_MAX)
			bytes[rows[i].offset] = (uint8_t)value;
		else if (rows[i].size == HALF && value > 0 && value <= UINT16_MAX)
			*(uint16_t *)(void *)(bytes + rows[i].offset) = (uint16_t)value;
	}
	if (layout->first_function && !layout->last_function)
		layout->last_function =
			(uint16_t)(layout->first_function + FUNCTION_TYPES_BEFORE - 1);
}

static bool layout_is_complete(const struct v8_layout *l)
{
	return l->first_function && l->last_function >= l->first_function && l->first_context &&
	       l->last_context && l->shared_info && l->script && l->scope_info &&
	       l->bytecode_array && l->code && l->fixed_array && l->byte_array &&
	       l->map_instance_type && l->function_shared && l->shared_name && l->shared_script &&
	       l->script_source && l->script_name && l->script_line_ends && l->bytecode_data &&
	       (l->instruction_stream != 0) == (l->stream_code != 0);
}

int v8_find(struct v8 *v8, struct elf *image, const struct module *module)
{
	Elf64_Sym symbol;
	int err = image_symbol(image, "v8dbg_type_JSFunction__JS_FUNCTION_TYPE", &symbol);

	if (!err)
		err = find_version(&v8->layout, image, module->bias);
	if (err)
		return err;
	find_layout(&v8->layout, image, module->bias);
	if (!layout_is_complete(&v8->layout))
		return -ENOTSUP;
	v8->base = (struct runtime){
		.kind = RUNTIME_V8,
		.text = module->start,
		.text_end = module->end,
	};
	if (!image_symbol(image, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE",
			  &symbol) &&
	    symbol.st_size && symbol.st_size % 3 == 0) {
		v8->bytecode_sizes = module->bias + symbol.st_value;
		v8->bytecodes = (uint32_t)(symbol.st_size / 3);
	}
	return 0;
}
