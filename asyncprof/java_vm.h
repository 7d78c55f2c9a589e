/* The Java VM as async-profiler sees it. */
#ifndef ASYNCPROF_JAVA_VM_H
#define ASYNCPROF_JAVA_VM_H

#include <stdbool.h>

/* True if JNI_GetCreatedJavaVMs() finds the VM, or there is no such function. From JDK 21 on the VM is found only when its
 * creation is over, some time after its last thread has started. */
bool java_vm_is_created(void);

/* async-profiler asks the VM for the thread's JNIEnv while it starts, and uses the answer unchecked (4.5, VM::init). If the
 * program's last thread ends meanwhile, there is no VM any more and the answer is NULL.
 *
 * Set the function that is called in the thread that has asked then, if async-profiler had attached that thread. */
void java_vm_on_end(void (*ended)(void));

/* FIND is the VM's JNI_GetCreatedJavaVMs(), or NULL. Returns its replacement for async-profiler, or NULL. */
void *java_vm_replace_find(void *find);

#endif
