// Goroutines of a program that is linked with C: each works in main.inCoroutine for a while, calls C, and yields.
// Prints their results.
package main

/*
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t __attribute__((noinline, unused)) in_c(uint64_t sum)
{
	for (int i = 0; i < 1000; i++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	return sum;
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

const routines, turns, rounds = 200, 50, 50000

//go:noinline
func work(sum uint64) uint64 {
	for i := 0; i < rounds; i++ {
		sum = sum*6364136223846793005 + 1442695040888963407
	}
	return sum
}

//go:noinline
func inCoroutine(sum *uint64) {
	for turn := 0; turn < turns; turn++ {
		*sum = work(*sum)
		*sum = uint64(C.in_c(C.uint64_t(*sum)))
		runtime.Gosched()
	}
}

func main() {
	var group sync.WaitGroup
	var total uint64

	// Until it is profiled: Go sets all signals at its start, so samples come after that.
	time.Sleep(300 * time.Millisecond)
	runtime.GOMAXPROCS(2)
	sums := make([]uint64, routines)
	for i := range sums {
		sums[i] = uint64(i)
		group.Add(1)
		go func(sum *uint64) {
			inCoroutine(sum)
			group.Done()
		}(&sums[i])
	}
	group.Wait()
	for _, sum := range sums {
		total += sum
	}
	fmt.Printf("%016x\n", total)
	// Go exits by its own system call, which leaves no time for a report.
	C.exit(5)
}
