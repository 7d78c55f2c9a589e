// A static program of Go that gets all signals, has its own profile on, and ends with 3. Prints the signals that it got.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"
)

//go:noinline
func hot(n int) (s uint64) {
	for i := 0; i < n; i++ {
		s = s*6364136223846793005 + uint64(i)
	}
	return
}

func main() {
	c := make(chan os.Signal, 10000)
	signal.Notify(c)
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		panic(err)
	}
	var wg sync.WaitGroup
	for i := 0; i < 10000; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			time.Sleep(time.Duration(i%200) * time.Millisecond)
			hot(1000)
		}()
	}
	for i := 0; i < 500; i++ {
		hot(1000000)
		if i%20 == 0 {
			runtime.GC()
		}
	}
	wg.Wait()
	pprof.StopCPUProfile()
	out, err := exec.Command("/bin/echo", "child").Output()
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	seen := map[os.Signal]bool{}
	for !seen[syscall.SIGUSR1] {
		seen[<-c] = true
	}
	time.Sleep(1200 * time.Millisecond) // the last second is not reported
	delete(seen, syscall.SIGURG)
	delete(seen, syscall.SIGCHLD)
	fmt.Println(seen, string(out), err, profile.Len() > 0)
	os.Exit(3)
}
