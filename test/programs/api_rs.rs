// The agent's C interface in Rust, without a crate. Rust has no stable weak symbols, so the functions are looked up
// once. An example, which test/system/api.sh runs.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::time::Duration;

extern "C" {
    fn clock() -> std::ffi::c_long;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The agent's functions, if it is loaded. They may be called from any thread, but not from a signal
/// handler.
struct Agent {
    running: extern "C" fn() -> c_int,
    flush: extern "C" fn() -> c_int,
    set: extern "C" fn(*const c_char, *const c_char) -> c_int,
    poll_begin: extern "C" fn(),
    poll_end: extern "C" fn(),
    version: extern "C" fn() -> *const c_char,
}

impl Agent {
    fn find() -> Option<Agent> {
        // Null is RTLD_DEFAULT: all loaded libraries.
        let look = |name: &CStr| unsafe {
            let found = dlsym(std::ptr::null_mut(), name.as_ptr());
            (!found.is_null()).then_some(found)
        };
        unsafe {
            Some(Agent {
                running: std::mem::transmute(look(c"asprof_agent_running")?),
                flush: std::mem::transmute(look(c"asprof_agent_flush")?),
                set: std::mem::transmute(look(c"asprof_agent_set")?),
                poll_begin: std::mem::transmute(look(c"asprof_agent_poll_begin")?),
                poll_end: std::mem::transmute(look(c"asprof_agent_poll_end")?),
                version: std::mem::transmute(look(c"asprof_agent_version")?),
            })
        }
    }

    /// One iteration of an event loop, or one poll of a task, which stays on its thread.
    fn turn<T>(&self, work: impl FnOnce() -> T) -> T {
        struct End<'a>(&'a Agent);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                (self.0.poll_end)()
            }
        }
        (self.poll_begin)();
        let _end = End(self);
        work()
    }
}

#[inline(never)]
fn slow_turn() -> u64 {
    // In microseconds of CPU time, by POSIX; most time is spent here, not in the clock's function.
    let until = unsafe { clock() } + 200_000;
    let mut turns = 0;
    while unsafe { clock() } < until {
        for _ in 0..100_000 {
            turns = std::hint::black_box(turns + 1);
        }
    }
    turns
}

fn main() {
    let Some(agent) = Agent::find() else {
        println!("no agent");
        return;
    };
    let version = unsafe { CStr::from_ptr((agent.version)()) };
    println!("agent {}", version.to_str().unwrap());
    for _ in 0..3000 {
        if (agent.running)() == 1 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!((agent.set)(c"TAGS".as_ptr(), c"color=red".as_ptr()), 0);
    assert_eq!((agent.set)(c"COLOR".as_ptr(), c"red".as_ptr()), -1);
    agent.turn(slow_turn);
    assert_eq!((agent.flush)(), 0);
    println!("done");
}
