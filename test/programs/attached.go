// A service that an agent is put into while it runs: 10,000 goroutines, HTTP, child processes, its own CPU profile, and
// notification of all signals. It checks its answers until the end of its input, and then prints "ok".
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var isEnded, mistakes atomic.Int64

func mistake(what string, err error) {
	mistakes.Add(1)
	fmt.Println(what, err)
}

func sum() string {
	data := make([]byte, 64)
	for i := 0; i < 200; i++ {
		sum := sha256.Sum256(data)
		copy(data, sum[:])
	}
	return fmt.Sprintf("%x", data)
}

func watchSignals() {
	signals := make(chan os.Signal, 1000)
	signal.Notify(signals)
	for signal := range signals {
		switch signal {
		case syscall.SIGURG, syscall.SIGCHLD, syscall.SIGPIPE:
		default:
			mistake("signal", fmt.Errorf("%v", signal))
		}
	}
}

func request(url, wanted string) {
	response, err := http.Get(url)
	if err != nil {
		mistake("request", err)
		return
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || string(body) != wanted {
		mistake("answer", err)
	}
}

func main() {
	go watchSignals()
	go func() {
		io.ReadAll(os.Stdin)
		isEnded.Store(1)
	}()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, sum())
	}))
	wanted := sum()
	var all sync.WaitGroup
	work := func(function func()) {
		all.Add(1)
		go func() {
			defer all.Done()
			for isEnded.Load() == 0 {
				function()
			}
		}()
	}
	for i := 0; i < 8; i++ {
		work(func() { request(server.URL, wanted) })
	}
	for i := 0; i < 10000; i++ {
		work(func() { time.Sleep(200 * time.Millisecond) })
	}
	work(func() {
		out, err := exec.Command("/bin/echo", "child").Output()
		if err != nil || string(out) != "child\n" {
			mistake("child", err)
		}
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	})
	fmt.Println("ready")
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		mistake("profile", err)
	}
	all.Wait()
	pprof.StopCPUProfile()
	if profile.Len() == 0 {
		mistake("profile", nil)
	}
	if mistakes.Load() > 0 {
		os.Exit(1)
	}
	fmt.Println("ok")
}
