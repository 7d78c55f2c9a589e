// As wait_causes.c, for Go: threads of goroutines that are locked to them wait by inline system calls, and measure their
// waits. Prints name, cause, seconds of waits and of life for each.
//
//	wait_causes SECONDS DIRECTORY
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const clockThreadCPU = 3
const prSetName = 15

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// The thread's seconds on a processor and in the run queue.
func notBlocked(schedstat int) float64 {
	var cpu syscall.Timespec
	text := make([]byte, 80)
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&cpu)), 0)
	n, err := syscall.Pread(schedstat, text, 0)
	check(err)
	queued, err := strconv.ParseUint(strings.Fields(string(text[:n]))[1], 10, 64)
	check(err)
	return float64(cpu.Nano())/1e9 + float64(queued)/1e9
}

func now(start time.Time) float64 {
	return time.Since(start).Seconds()
}

// The thread's seconds since START that it was blocked. Read again if the thread lost its processor in between.
func blocked(start time.Time, schedstat int) float64 {
	for {
		before := now(start)
		seconds := before - notBlocked(schedstat)
		if now(start)-before < 0.001 {
			return seconds
		}
	}
}

func pause(ms int64) {
	request := syscall.NsecToTimespec(ms * 1e6)
	for syscall.Nanosleep(&request, &request) == syscall.EINTR {
	}
}

func read(fd int) {
	byte := make([]byte, 1)
	_, err := syscall.Read(fd, byte)
	for err == syscall.EINTR {
		_, err = syscall.Read(fd, byte)
	}
	check(err)
}

// Writes a byte to each descriptor every INTERVAL.
func feed(ms int64, fds ...int) {
	runtime.LockOSThread()
	for {
		pause(ms)
		for _, fd := range fds {
			syscall.Write(fd, []byte{1})
		}
	}
}

func waits(seconds float64, name, cause string, wait func(), group *sync.WaitGroup) {
	runtime.LockOSThread()
	title := append([]byte(name), 0)
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&title[0])), 0)
	schedstat, err := syscall.Open("/proc/thread-self/schedstat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	check(err)
	start, waited := time.Now(), 0.0
	for now(start) < seconds {
		before := blocked(start, schedstat)
		wait()
		waited += blocked(start, schedstat) - before
		for end := now(start) + 0.003; now(start) < end; {
		}
	}
	fmt.Printf("%s %s %.3f %.3f 0\n", name, cause, waited, now(start))
	group.Done()
}

func main() {
	var ends, pair [2]int
	var group sync.WaitGroup
	runtime.GOMAXPROCS(16) // no thread waits for a processor of Go's scheduler
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	check(err)
	check(syscall.Pipe2(ends[:], syscall.O_CLOEXEC))
	pair, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	check(err)
	file, err := os.Create(filepath.Join(os.Args[2], "written"))
	check(err)
	block := make([]byte, 1<<16)
	go feed(30, ends[1])
	go feed(50, pair[1])
	group.Add(4)
	go waits(seconds, "pipes", "pipe-read", func() { read(ends[0]) }, &group)
	go waits(seconds, "sockets", "socket-read", func() { read(pair[0]) }, &group)
	go waits(seconds, "sleeps", "sleep", func() { pause(40) }, &group)
	go waits(seconds, "files", "file", func() {
		_, err := syscall.Pwrite(int(file.Fd()), block, 0)
		check(err)
		check(syscall.Fsync(int(file.Fd())))
	}, &group)
	group.Wait()
}
