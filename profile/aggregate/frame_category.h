/* Categories of frames: whose code a function is, by its type and by the path of its file, the name
 * of its library, or its Java class. */
#ifndef PROFILE_AGGREGATE_FRAME_CATEGORY_H
#define PROFILE_AGGREGATE_FRAME_CATEGORY_H

enum frame_category {
	FRAME_OWN,         /* the program's own code */
	FRAME_LIBRARY,     /* shared libraries, installed packages, a language's standard library */
	FRAME_INTERPRETER, /* native code of an interpreter or a virtual machine */
	FRAME_KERNEL,
	FRAME_CATEGORIES,
};

/* "own", "library", "interpreter", "kernel". */
extern const char *const frame_category_names[FRAME_CATEGORIES];

/* Category of the native function NAME in LIBRARY; "" if that is unknown. */
enum frame_category frame_category_of_native(const char *library, const char *name);

/* Category of a script function in the file PATH; "" for a function of the interpreter itself. */
enum frame_category frame_category_of_script(const char *path);

/* Category of a function of the source PATH that is inlined into a function of category OUTER. A template of the C++
 * library is FRAME_LIBRARY in a function of FRAME_OWN. */
enum frame_category frame_category_of_source(const char *path, enum frame_category outer);

/* Category of a method of CLASS, as "java/lang/String". */
enum frame_category frame_category_of_java(const char *class_name);

#endif
