//! Uses SECONDS of CPU time, in two threads: closures, collections, formatting, panics that unwind.

use std::collections::{BTreeMap, HashMap};
use std::os::raw::c_long;

extern "C" {
    fn clock() -> c_long;
}

const CLOCKS_PER_SEC: f64 = 1e6;

#[inline(never)]
fn recurse(depth: u64, leaf: &dyn Fn(u64) -> u64) -> u64 {
    if depth == 0 {
        leaf(7)
    } else {
        recurse(depth - 1, leaf).wrapping_add(depth)
    }
}

#[inline(never)]
fn collect(seed: u64) -> u64 {
    let mut table: HashMap<String, Vec<u64>> = HashMap::new();
    for i in 0..300u64 {
        table.entry(format!("{}", i % 17)).or_default().push(i * seed * 7919 % 2003);
    }
    let mut sorted = BTreeMap::new();
    for (name, mut row) in table {
        row.sort_by(|a, b| b.cmp(a));
        sorted.insert(name, row.iter().sum::<u64>());
    }
    sorted.values().sum()
}

fn work(seconds: f64) -> u64 {
    let mut sum = 0u64;
    while (unsafe { clock() } as f64) < seconds * CLOCKS_PER_SEC {
        sum = sum.wrapping_add(recurse(40, &|n| collect(n)));
        let caught = std::panic::catch_unwind(|| {
            recurse(10, &|n| if n == 7 { std::panic::resume_unwind(Box::new(n)) } else { n })
        });
        sum = sum.wrapping_add(caught.unwrap_or(1));
    }
    sum
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let other = std::thread::spawn(move || work(seconds));
    let sum = work(seconds).wrapping_add(other.join().unwrap());
    std::process::exit((sum == 42) as i32);
}
