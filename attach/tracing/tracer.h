/* Tracer: puts the attached host's side into a static program when it is executed.
 *
 * It needs no C library: the launcher has none. */
#ifndef ATTACH_TRACING_TRACER_H
#define ATTACH_TRACING_TRACER_H

/* For a process that is about to execute a static program: start a tracer, which maps the file PAYLOAD into the program and
 * starts its thread (attach/begin.h) before the first instruction of the program. The program keeps this process's
 * pid. It does not notice the tracer, which is a child without an exit signal. The program runs without an agent if
 * that fails later, after one line on standard error.
 *
 * A program that gains privileges from its file would lose them: the caller does not trace it. Call it in a process with
 * one thread, immediately before execve(2).
 *
 * Returns 0, or -errno when there is no tracer: -ENOSYS on a processor without support, -EPERM where tracing is forbidden, or
 * an error of the file. */
int tracer_start(const char *payload);

#endif
