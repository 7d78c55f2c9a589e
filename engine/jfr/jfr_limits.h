/* Size limits of a chunk. */
#ifndef ENGINE_JFR_JFR_LIMITS_H
#define ENGINE_JFR_JFR_LIMITS_H

/* Maximum memory of the stacks that a chunk's events refer to; and its limit with the stacks of the
 * retained memory, at the end of a chunk. At most 1/8 and 3/8 of ASPROF_AGENT_MEMORY. */
#define JFR_STACKS_MAX_BYTES          (2u << 20)
#define JFR_RESERVED_STACKS_MAX_BYTES (6u << 20)

#define JFR_THREADS_MAX        16384      /* with a name, in one chunk */
#define JFR_THREAD_NAME_MAX    16         /* with its NUL; longer names are cut */
#define JFR_CONTEXTS_MAX       16384      /* in one chunk */
#define JFR_CONTEXTS_MAX_BYTES (1u << 20) /* memory of these */
#define JFR_USER_TYPES_MAX     1024       /* in a writer's life */
#define JFR_STRING_MAX         8191       /* bytes in an event or a pool; longer ones are cut */

#endif
