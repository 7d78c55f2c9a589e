/* Display names of functions, classes and threads. */
#ifndef PROFILE_BASICS_NAMES_H
#define PROFILE_BASICS_NAMES_H

#include <stdbool.h>

#include "core/buf.h"
#include "profile/basics/intern.h"

/* Sanitize NAME by text_clean(). A `;` is kept, although readers of folded stacks split there. */
void names_clean(struct buf *name);

/* Intern a sanitized copy of TEXT. Returns its ID; 0: out of memory. */
uint32_t names_intern(struct intern *intern, const char *text);

/* Remove the package of a Java class: java/util/HashMap -> HashMap. */
void names_drop_package(struct buf *name);

/* Convert a JVM class name to Java's notation: [Ljava/util/HashMap; -> java.util.HashMap[],
 * [I -> int[]. SIMPLE removes the package too. */
void names_format_java_class(struct buf *name, bool simple);

/* Print NAME to stdout in at most WIDTH columns (0: a default width); FULL prints all of it.
 * C++ names can have many hundred characters. In a name longer than the default width,
 * "<...>" and "(...)" replace the arguments; if it is still too long, its middle is cut. */
void names_print(const char *name, unsigned width, bool full);

/* Remove parameters, template and generic arguments, and Rust's hashes:
 * std::vector<int>::push_back(int&&) -> std::vector::push_back. Paths and names that start with
 * "<T as Trait>" keep their text. */
void names_drop_arguments(struct buf *name);

#endif
