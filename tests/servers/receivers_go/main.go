// SPDX-License-Identifier: Apache-2.0

// receivers takes profiles as the servers of others do, with their own code: Pyroscope's push.v1 by
// Grafana's published API, /ingest by google/pprof, and OTLP by the receiver of the OpenTelemetry
// collector. It prints what it listens at, and then a line of JSON for each series or profile.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
)

// received is one series of Pyroscope, or one Profile of OTLP.
type received struct {
	By         string                      `json:"by"`
	Labels     map[string]string           `json:"labels"` // of OTLP the attributes of the resource
	ID         string                      `json:"id"`
	Query      map[string]string           `json:"query,omitempty"` // of /ingest
	Headers    map[string]string           `json:"headers,omitempty"`
	TimeNs     int64                       `json:"time_ns"`
	DurationNs int64                       `json:"duration_ns"`
	Totals     map[string]map[string]int64 `json:"totals"` // "type/unit": by innermost function
	Faults     []string                    `json:"faults"` // broken rules of the format
}

var output sync.Mutex

func say(what any) {
	output.Lock()
	defer output.Unlock()
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	addPyroscope(mux)
	go func() { panic(http.Serve(listener, mux)) }()
	collector := startCollector()
	say(map[string]string{"pyroscope": listener.Addr().String(), "otlp": collector})
	// Until its standard input ends, as with the test that started it.
	_, _ = os.Stdin.Read(make([]byte, 1))
}
