/* List of the host's functions that the agent's thread calls, in the order of their table. (The assembler reads this
 * header too.)
 *
 * They run with the image's thread pointer. So none of them uses a thread-local variable, errno, or the program's C
 * library, except for functions that move and compare bytes. */
#ifndef IMAGE_HOST_CALLS_H
#define IMAGE_HOST_CALLS_H

#define HOST_CALLS(X)                 \
	X(agent_failed)               \
	X(agent_set_ended)            \
	X(agent_stop_is_requested)    \
	X(signal_share_set)           \
	X(signal_share_reserved)      \
	X(threads_admit)              \
	X(threads_adopt)              \
	X(cfi_lookup_header)          \
	X(cfi_lookup_lasting)         \
	X(cfi_lookup_outermost)       \
	X(cfi_memory)                 \
	X(cfi_rule_intern)            \
	X(cfi_rules_init)             \
	X(frame_table_drop)           \
	X(frame_table_find)           \
	X(frame_table_keep)           \
	X(go_labels_use)              \
	X(host_started)               \
	X(host_left)                  \
	X(lock_waits_set_interval)    \
	X(mem_collect)                \
	X(mem_keep_frames)            \
	X(mem_passed_by)              \
	X(mem_stop)                   \
	X(mixed_stack_look_for)       \
	X(mixed_stack_several)        \
	X(mixed_stack_turn)           \
	X(ring_drain)                 \
	X(ring_lost)                  \
	X(ring_open)                  \
	X(sampler_check)              \
	X(sampler_enable)             \
	X(sampler_give_up)            \
	X(sampler_install)            \
	X(sampler_install_enabled)    \
	X(sampler_remove)             \
	X(sampler_remove_second)      \
	X(sampler_signal)             \
	X(signal_share_refused)       \
	X(signal_share_error)         \
	X(thread_context_may_exist)   \
	X(thread_context_places)      \
	X(thread_clock_cpu)           \
	X(thread_clock_interrupt)     \
	X(thread_clock_is_under_way)  \
	X(thread_clock_follow_mask)   \
	X(thread_clock_spare)         \
	X(thread_slot_find)           \
	X(threads_close)              \
	X(threads_counted)            \
	X(threads_each)               \
	X(threads_open)               \
	X(threads_reap)               \
	X(threads_pause)              \
	X(threads_set_interval)       \
	X(loop_iterations_close)      \
	X(loop_iterations_check)      \
	X(loop_iterations_open)       \
	X(loop_iterations_unreported) \
	X(loop_iterations_wake)       \
	X(unwind_map_publish)         \
	X(unwind_map_quiet)           \
	X(threads_local)              \
	X(user_event_emit)            \
	X(user_event_name)            \
	X(user_event_register)        \
	X(mem_record_set_interval)    \
	X(mem_record_start)           \
	X(mem_record_cancel_early)

#endif
