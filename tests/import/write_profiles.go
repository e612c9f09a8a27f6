// SPDX-License-Identifier: Apache-2.0

// write_profiles writes profiles of itself into the current folder, as any Go program does with
// runtime/pprof: CPU time of goroutines with labels, the heap, all allocations, blocking, goroutines.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

type shape interface{ area(n int) float64 }
type square struct{ side float64 }
type circle struct{ radius float64 }

func (s square) area(n int) float64 {
	sum := 0.0
	for i := 0; i < n; i++ {
		sum += s.side * float64(i)
	}
	return sum
}
func (c circle) area(n int) float64 { return c.radius * square{c.radius}.area(n) }

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

var sink []string
var total float64

func words(n int) []string {
	var out []string
	for i := 0; i < n; i++ {
		out = append(out, strings.Repeat("word "+strconv.Itoa(i), 3))
	}
	sort.Strings(out)
	return out
}

func work(until time.Time) {
	for time.Now().Before(until) {
		total += float64(fib(20))
		total += circle{2}.area(100000)
		sink = append(sink[:0], words(2000)...)
	}
}

var kept [][]byte

func keep(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 3000+i%7*1000))
	}
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1000)
	f, _ := os.Create("go_cpu.pb.gz")
	pprof.StartCPUProfile(f)
	until := time.Now().Add(2 * time.Second)
	var g sync.WaitGroup
	for i := 0; i < 3; i++ {
		g.Add(1)
		go func(i int) {
			defer g.Done()
			pprof.Do(context.Background(), pprof.Labels("worker", strconv.Itoa(i)), func(context.Context) { work(until) })
		}(i)
	}
	g.Wait()
	pprof.StopCPUProfile()
	f.Close()
	keep(500)
	runtime.GC()
	for _, n := range []string{"heap", "allocs", "block", "goroutine"} {
		h, _ := os.Create("go_" + n + ".pb.gz")
		pprof.Lookup(n).WriteTo(h, 0)
		h.Close()
	}
}
