/* Categories of frames. */
#include "profile/aggregate/frame_category.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "profile/basics/text.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

const char *const frame_category_names[FRAME_CATEGORIES] = {
	[FRAME_OWN] = "own",
	[FRAME_LIBRARY] = "library",
	[FRAME_INTERPRETER] = "interpreter",
	[FRAME_KERNEL] = "kernel",
};

/* Executables and libraries; a version may follow. */
static const char *const interpreters[] = {
	"python",  "libpython", "node",   "nodejs", "libnode", "ruby", "libruby", "php",
	"php-fpm", "php-cgi",   "libphp", "perl",   "libperl", "java", "libjvm",
};

/* Parts of the paths of installed packages and of standard libraries. */
static const char *const package_paths[] = {
	"/site-packages/", "/dist-packages/", "/lib/python",  "/lib64/python", "/node_modules/",
	"/gems/",          "/lib/ruby/",      "/lib64/ruby/", "/vendor/",      "/share/php/",
	"/share/perl",     "/perl5/",         "/perl-base/",  "/lib/perl/",
};

/* Parts of the paths of sources and headers that are compiled into other programs, of the system and of Rust. */
static const char *const source_paths[] = { "/usr/include/",       "/usr/lib/",
					    "/usr/local/include/", "/rustc/",
					    "/.cargo/registry/",   "/.rustup/" };

/* Beginnings of the names of files that are part of an interpreter. */
static const char *const package_starts[] = { "<frozen ", "<internal:", "node:", "internal/" };

static const char *const java_packages[] = {
	"java/", "javax/", "jdk/", "sun/", "com/sun/", "kotlin/", "scala/", "groovy/",
	"java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "scala.", "groovy.",
};

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

static bool starts_with_any(const char *text, const char *const *starts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (starts_with(text, starts[i]))
			return true;
	return false;
}

/* Whether FILE is NAME, or NAME with a version or a suffix: "python3.11", "libjvm.so", but not
 * "node_exporter". */
static bool is_version_of(const char *file, const char *name)
{
	char next = file[strlen(name)];

	return !next || next == '.' || (next >= '0' && next <= '9');
}

static bool is_interpreter(const char *file)
{
	for (size_t i = 0; i < COUNT(interpreters); i++)
		if (starts_with(file, interpreters[i]) && is_version_of(file, interpreters[i]))
			return true;
	return false;
}

static bool is_shared_library(const char *file)
{
	const char *so = strstr(file, ".so");

	return (so && (!so[3] || so[3] == '.')) || starts_with(file, "ld-") ||
	       text_has_suffix(file, ".node") || strstr(file, "vdso");
}

enum frame_category frame_category_of_native(const char *library, const char *name)
{
	const char *file = text_base_name(library);

	if (is_interpreter(file) || !strcmp(name, "[Java]"))
		return FRAME_INTERPRETER;
	/* (_start and Go's runtime are in the program's file. No other compiler has a name "runtime.f".) */
	if (!*file || is_shared_library(file) || !strcmp(name, "_start") ||
	    starts_with(name, "runtime.") || starts_with(name, "internal/runtime/"))
		return FRAME_LIBRARY;
	return FRAME_OWN;
}

static bool contains_any(const char *path, const char *const *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(path, parts[i]))
			return true;
	return false;
}

enum frame_category frame_category_of_script(const char *path)
{
	if (!*path || starts_with_any(path, package_starts, COUNT(package_starts)) ||
	    contains_any(path, package_paths, COUNT(package_paths)))
		return FRAME_LIBRARY;
	return FRAME_OWN;
}

enum frame_category frame_category_of_source(const char *path, enum frame_category outer)
{
	return outer == FRAME_OWN && contains_any(path, source_paths, COUNT(source_paths))
		       ? FRAME_LIBRARY
		       : outer;
}

enum frame_category frame_category_of_java(const char *class_name)
{
	return starts_with_any(class_name, java_packages, COUNT(java_packages)) ? FRAME_LIBRARY
										: FRAME_OWN;
}
