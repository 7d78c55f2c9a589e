/* Names of functions, classes and threads, made fit to be shown. */
#ifndef PROFILE_BASICS_NAMES_H
#define PROFILE_BASICS_NAMES_H

#include <stdbool.h>

#include "core/buf.h"
#include "profile/basics/intern.h"

/* As text_clean() has it. A `;` stays: what folded stacks split at is the reader's to know. */
void names_clean(struct buf *name);

/* Intern TEXT, cleaned. 0: out of memory. */
uint32_t names_intern(struct intern *intern, const char *text);

/* java/util/HashMap -> HashMap. */
void names_drop_package(struct buf *name);

/* [Ljava/util/HashMap; -> java.util.HashMap[], [I -> int[]; SIMPLE drops the package. */
void names_format_java_class(struct buf *name, bool simple);

/* Print NAME in WIDTH columns, 0: as many as is sensible. Names of C++ run to many hundred characters:
 * a long one has "<...>" and "(...)" in place of its arguments and, if it is too long even so, its
 * middle left out; but not where FULL is set. */
void names_print(const char *name, unsigned width, bool full);

/* Parameters, template and generic arguments, and hashes go:
 * std::vector<int>::push_back(int&&) -> std::vector::push_back. */
void names_drop_arguments(struct buf *name);

#endif
