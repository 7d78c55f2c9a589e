// Goroutines with labels of runtime/pprof, of which /pay computes three times as long as /list. A goroutine without
// labels computes as long as /list.
package main

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

var sink uint64

// Both are inlined.
func mix(sum uint64) uint64  { return sum*31 + 7 }
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
	const rounds, turns = 600000, 400
	var group sync.WaitGroup

	time.Sleep(time.Second)
	group.Add(1)
	go func() {
		for i := 0; i < turns; i++ {
			burn(rounds)
		}
		group.Done()
	}()
	for i := 0; i < turns; i++ {
		serve("/pay", 3*rounds)
		serve("/list", rounds)
	}
	group.Wait()
	fmt.Println("done")
	time.Sleep(1200 * time.Millisecond) // the last second is not reported
}
