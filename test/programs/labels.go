// Goroutines with labels of runtime/pprof, of which /pay computes three times as long as /list. The first goroutine,
// without labels, computes as long as /list.
package main

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"
)

var sink uint64

// Both are inlined.
func mix(sum uint64) uint64  { return sum*31 + sum%1000003 }
func step(sum uint64) uint64 { return mix(sum) }

// In a variable of its own: two threads that write to one variable take longer than one.
//
//go:noinline
func burn(rounds int) {
	sum := uint64(rounds)
	for i := 0; i < rounds; i++ {
		sum = step(sum)
	}
	if sum == 0 {
		sink = sum
	}
}

func serve(route string, rounds int) {
	// The second label is too long, so it is left out. The others are sorted by key.
	labels := pprof.Labels("route", route, "long", strings.Repeat("x", 600), "tenant", "a=b\n")
	pprof.Do(context.Background(), labels, func(context.Context) {
		done := make(chan bool)
		go func() { // inherits the labels
			burn(rounds)
			done <- true
		}()
		<-done
	})
}

func main() {
	const rounds, turns = 400000, 400

	time.Sleep(time.Second)
	// In turn: a concurrent goroutine may run in a thread of its own, and new threads of a static program are found
	// once a second.
	for i := 0; i < turns; i++ {
		burn(rounds)
		serve("/pay", 3*rounds)
		serve("/list", rounds)
	}
	fmt.Println("done")
	time.Sleep(1200 * time.Millisecond) // the last second is not reported
}
