//! Panics that are caught, in this thread and at the end of another one, for every instruction on their
//! way, with values to drop.
use std::panic;
use std::thread;

extern "C" {
    fn step_on();
    fn step_off();
}

#[inline(never)]
fn panics(depth: u32, text: &str) -> usize {
    let owned = format!("{text}{depth}");
    if depth == 0 {
        panic::panic_any(owned);
    }
    panics(depth - 1, &owned) + owned.len()
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    unsafe { step_on() };
    let caught = panic::catch_unwind(|| panics(2, "x"));
    let joined = thread::spawn(|| panics(1, "y")).join();
    unsafe { step_off() };
    assert!(caught.is_err() && joined.is_err());
}
