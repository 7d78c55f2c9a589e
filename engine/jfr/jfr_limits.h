/* What a chunk holds at most. */
#ifndef ENGINE_JFR_JFR_LIMITS_H
#define ENGINE_JFR_JFR_LIMITS_H

#define JFR_STACKS_MAX_BYTES   (2u << 20)
#define JFR_THREADS_MAX        16384      /* with a name, in one chunk */
#define JFR_THREAD_NAME_MAX    16         /* with its NUL; longer ones are cut */
#define JFR_CONTEXTS_MAX       16384      /* of the samples of one chunk */
#define JFR_CONTEXTS_MAX_BYTES (1u << 20) /* that they take */
#define JFR_USER_TYPES_MAX     1024       /* in a writer's life */
#define JFR_STRING_MAX         8191       /* bytes of a string in an event or a pool; cut beyond */

#endif
