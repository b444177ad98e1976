// Rust: generics, a trait object, a closure. See parts.h for what it prints.
use std::arch::asm;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}
#[repr(C)]
struct Pollfd {
    fd: i32,
    events: i16,
    revents: i16,
}
extern "C" {
    fn clock_gettime(clock: i32, out: *mut Timespec) -> i32;
    fn poll(fds: *mut Pollfd, n: u64, timeout: i32) -> i32;
}

fn cpu_ns() -> u64 {
    let mut t = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(3, &mut t) }; // CLOCK_THREAD_CPUTIME_ID
    t.seconds as u64 * 1_000_000_000 + t.nanoseconds as u64
}

trait Step {
    fn step(x: u64) -> u64;
}
struct Linear;
impl Step for Linear {
    fn step(x: u64) -> u64 {
        x.wrapping_mul(2862933555777941757).wrapping_add(3037000493)
    }
}
struct Shifted;
impl Step for Shifted {
    fn step(x: u64) -> u64 {
        (x ^ (x >> 7)).wrapping_mul(2862933555777941757)
    }
}

#[inline(never)]
fn repeat<S: Step>(turns: u64) -> u64 {
    let mut x = 1;
    for _ in 0..turns {
        x = S::step(x);
        unsafe { asm!("/* {0} */", inout(reg) x) };
    }
    x
}

#[inline(never)]
fn linear(turns: u64) -> u64 {
    repeat::<Linear>(turns) | 1
}

#[inline(never)]
fn shifted(turns: u64) -> u64 {
    repeat::<Shifted>(turns) | 1
}

trait Job {
    fn run(&self, turns: u64) -> u64;
}
impl<F: Fn(u64) -> u64> Job for F {
    #[inline(never)]
    fn run(&self, turns: u64) -> u64 {
        self(turns) + 1
    }
}

fn main() {
    let jobs: Vec<(&str, u64, Box<dyn Job>)> = vec![
        ("linear", 6, Box::new(|n: u64| linear(n) + 1)),
        ("shifted", 3, Box::new(|n: u64| shifted(n) + 1)),
    ];
    let mut spent = vec![0u64; jobs.len()];
    let (mut random, mut kept, begin) = (88172645463325252u64, 0u64, cpu_ns());
    println!("ready");
    let mut input = Pollfd { fd: 0, events: 1, revents: 0 };
    while unsafe { poll(&mut input, 1, 0) } != 1 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let turns = 40000 + random % 80000;
        for (i, (_, weight, job)) in jobs.iter().enumerate() {
            let before = cpu_ns();
            kept ^= job.run(turns * weight);
            spent[i] += cpu_ns() - before;
        }
    }
    println!("total {}", cpu_ns() - begin);
    for (i, (name, _, _)) in jobs.iter().enumerate() {
        println!("{} {}", name, spent[i]);
    }
    if kept == 1 {
        println!();
    }
}
