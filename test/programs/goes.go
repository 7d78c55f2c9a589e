// A program of Go and C of known shape: a goroutine that computes, assembler functions without frames, C that Go
// calls, Go that C calls back, and C that this calls again.
package main

/*
#include <stdint.h>
#include <stdlib.h>

extern void backInGo(int);

static uint64_t __attribute__((noinline, unused)) burns_in_c(int rounds)
{
	volatile uint64_t sum = 1;

	for (int i = 0; i < rounds; i++)
		sum = sum * 31 + 7;
	return sum;
}

static void __attribute__((noinline, unused)) calls_go(int rounds)
{
	backInGo(rounds);
	__asm__ volatile("");
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

var sink uint64

//go:noinline
func burn(rounds int) {
	for i := 0; i < rounds; i++ {
		sink = sink*31 + 7
	}
}

//go:noinline
func three(unit int) { burn(3 * unit) }

//go:noinline
func one(unit int) { burn(unit) }

//go:noinline
func copies(from, to []byte) {
	for i := 0; i < 8; i++ {
		copy(to, from)
	}
}

//go:noinline
func deeper(depth int, rounds int) {
	if depth == 0 {
		burn(rounds)
		return
	}
	deeper(depth-1, rounds)
	sink++
}

//export backInGo
func backInGo(rounds C.int) {
	burn(int(rounds))
	C.burns_in_c(rounds)
}

//go:noinline
func callsC(rounds int) { C.calls_go(C.int(rounds)) }

func main() {
	const unit, turns = 300000, 400
	var group sync.WaitGroup

	// Until it is profiled: Go sets all signals at its start, so samples come after that.
	time.Sleep(time.Second)
	from, to := make([]byte, 4<<20), make([]byte, 4<<20)
	for i := range from {
		from[i] = byte(i)
	}
	runtime.GOMAXPROCS(2)
	group.Add(1)
	go func() {
		for i := 0; i < turns; i++ {
			one(unit)
			three(unit)
		}
		group.Done()
	}()
	for i := 0; i < turns; i++ {
		copies(from, to)
		deeper(20, unit)
		callsC(unit)
	}
	group.Wait()
	fmt.Println("done")
	// Go exits by its own system call, which leaves no time for a report.
	C.exit(0)
}
