// COUNT iterations of a loop by epoll_wait(2) that take 20 to 200 ms, in turn asleep and computing. Prints the
// microseconds and the function of each. Without crates, because a build of this project needs none.
use std::os::raw::c_int;
use std::time::{Duration, Instant};

#[repr(C, packed)]
#[derive(Clone, Copy)]
struct EpollEvent {
    events: u32,
    data: u64,
}

extern "C" {
    fn epoll_create1(flags: c_int) -> c_int;
    fn epoll_wait(epoll: c_int, events: *mut EpollEvent, most: c_int, timeout: c_int) -> c_int;
}

#[inline(never)]
fn blocking(time: Duration) {
    std::thread::sleep(time);
    std::hint::black_box(()); // so that it is on the stack meanwhile
}

#[inline(never)]
fn burning(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::hint::black_box(());
    }
}

fn main() {
    let count: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let epoll = unsafe { epoll_create1(0) };
    let mut event = EpollEvent { events: 0, data: 0 };

    std::thread::sleep(Duration::from_millis(500));
    for i in 0..count {
        unsafe { epoll_wait(epoll, &mut event, 1, 2) };
        let time = Duration::from_micros(20000 + 180000 * i / std::cmp::max(count - 1, 1));
        let began = Instant::now();
        if i % 2 == 0 {
            blocking(time);
        } else {
            burning(time);
        }
        println!("{} {}", began.elapsed().as_micros(), if i % 2 == 0 { "blocking" } else { "burning" });
        unsafe { epoll_wait(epoll, &mut event, 1, 2) };
    }
}
