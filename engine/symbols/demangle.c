/* Demangler for C++ and Rust names. libiberty does the work; this module bounds its input and output. */
#include "engine/symbols/demangle.h"

#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"

/* libiberty's limit on recursion is C++ names of 1,024 bytes. Rust names may be longer; names above
 * this limit are not useful in a profile. */
#define SYMBOL_MAX 4096

/* A name may refer to its own parts, and so double in size every few bytes. */
#define NAME_MAX_BYTES 16384

struct demangler {
	struct buf name;
	const char *symbol; /* set during a call */
	bool known, cpp;
	jmp_buf overflow;
};

int demangler_open(struct demangler **out)
{
	struct demangler *demangler = calloc(1, sizeof(*demangler));

	if (!demangler)
		return -ENOMEM;
	demangler->name = (struct buf)BUF_INIT(NAME_MAX_BYTES);
	*out = demangler;
	return 0;
}

void demangler_trim(struct demangler *demangler)
{
	buf_free(&demangler->name);
}

void demangler_close(struct demangler *demangler)
{
	if (!demangler)
		return;
	demangler_trim(demangler);
	free(demangler);
}

bool demangle_wanted(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

/* libiberty has no cancel function and may produce gigabytes, so a longjmp leaves it. Its memory is
 * on its stack, except a few bytes for a Rust identifier that is not ASCII; these are leaked. */
static void demangler_append(const char *piece, size_t length, void *context)
{
	struct demangler *demangler = context;

	if (buf_append(&demangler->name, piece, length))
		longjmp(demangler->overflow, 1);
}

static void demangler_run(struct demangler *demangler)
{
	demangler->known = demangler->cpp = false;
	if (setjmp(demangler->overflow)) {
		demangler->known = false;
		return;
	}
	/* Rust's older mangling is also valid C++, except for a hash that only Rust names have. */
	if (rust_demangle_callback(demangler->symbol, DMGL_NO_OPTS, demangler_append, demangler)) {
		demangler->known = true;
		return;
	}
	buf_reset(&demangler->name);
	demangler->cpp = true;
	demangler->known = cplus_demangle_v3_callback(demangler->symbol, DMGL_PARAMS | DMGL_ANSI,
						      demangler_append, demangler) != 0;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t n = strlen(end);

	return length >= n && memcmp(text + length - n, end, n) == 0;
}

/* Length of NAME without the suffix after its parameter list: qualifiers of the function, and the
 * names of its copies, as in "f(int) [clone .part.0]". */
static size_t without_qualifiers(const char *name, size_t length)
{
	static const char *const qualifiers[] = { " const", " volatile", " noexcept", " &&", " &" };
	size_t before, open;

	do {
		before = length;
		for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
			if (ends_with(name, length, qualifiers[i]))
				length -= strlen(qualifiers[i]);
		if (!ends_with(name, length, "]"))
			continue;
		for (open = length; open && name[open] != '['; open--)
			;
		if (open && strncmp(name + open - 1, " [clone ", 8) == 0)
			length = open - 1;
	} while (length != before);
	return length;
}

/* Cut the parameters of the function, which are at the end of NAME. */
static void cut_parameters(char *name)
{
	size_t length = without_qualifiers(name, strlen(name)), at = length;
	int depth = 0;

	if (!ends_with(name, length, ")"))
		return;
	do {
		at--;
		depth += name[at] == ')';
		depth -= name[at] == '(';
	} while (at && depth);
	if (at && !ends_with(name, at, "::"))
		name[at] = '\0';
}

static const char *demangler_attempt(struct demangler *demangler, const char *symbol)
{
	char *name;

	buf_reset(&demangler->name);
	demangler->symbol = symbol;
	demangler_run(demangler);
	name = (char *)(uintptr_t)buf_string(&demangler->name);
	if (!demangler->known || !name)
		return NULL;
	if (demangler->cpp)
		cut_parameters(name);
	return *name ? name : NULL;
}

const char *demangle(struct demangler *demangler, const char *symbol)
{
	const char *name, *suffix;
	char plain[1024];

	if (!demangle_wanted(symbol) || strlen(symbol) > SYMBOL_MAX)
		return NULL;
	name = demangler_attempt(demangler, symbol);
	if (name)
		return name;
	/* Compilers mark copies of a function with a suffix that starts with a dot. */
	suffix = strchr(symbol, '.');
	if (!suffix || (size_t)(suffix - symbol) >= sizeof(plain))
		return NULL;
	memcpy(plain, symbol, (size_t)(suffix - symbol));
	plain[suffix - symbol] = '\0';
	return demangler_attempt(demangler, plain);
}
