// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

type pusher struct{}

func (pusher) Push(_ context.Context, request *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	for _, series := range request.Msg.Series {
		labels := map[string]string{}
		for _, pair := range series.Labels {
			labels[pair.Name] = pair.Value
		}
		if labels["__name__"] == "" || labels["service_name"] == "" || len(labels) != len(series.Labels) {
			return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("labels %v", series.Labels))
		}
		for _, sample := range series.Samples {
			r, err := fromPprof(sample.RawProfile)
			if err != nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, err)
			}
			r.By, r.Labels, r.ID, r.Headers = "push", labels, sample.ID, headers(request.Header())
			say(r)
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func headers(h http.Header) map[string]string {
	of := map[string]string{}
	for _, name := range []string{"Authorization", "X-Scope-Orgid", "Content-Type", "User-Agent"} {
		of[name] = h.Get(name)
	}
	return of
}

// application{name=value,...}, as Pyroscope takes it apart.
func nameAndTags(text string) (map[string]string, error) {
	name, rest, has := strings.Cut(text, "{")
	labels := map[string]string{"service_name": name}
	if !has {
		return labels, nil
	}
	if !strings.HasSuffix(rest, "}") {
		return nil, errors.New("no closing brace")
	}
	for _, pair := range strings.Split(strings.TrimSuffix(rest, "}"), ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || labels[key] != "" {
			return nil, fmt.Errorf("the tag %q", pair)
		}
		labels[key] = value
	}
	return labels, nil
}

func ingest(w http.ResponseWriter, request *http.Request) {
	refuse := func(err error) { http.Error(w, err.Error(), http.StatusUnprocessableEntity) }
	labels, err := nameAndTags(request.URL.Query().Get("name"))
	if err != nil {
		refuse(err)
		return
	}
	file, _, err := request.FormFile("profile")
	if err != nil {
		refuse(err)
		return
	}
	body := new(bytes.Buffer)
	if _, err = body.ReadFrom(file); err != nil {
		refuse(err)
		return
	}
	r, err := fromPprof(body.Bytes())
	if err != nil {
		refuse(err)
		return
	}
	r.By, r.Labels, r.Headers, r.Query = "ingest", labels, headers(request.Header), map[string]string{}
	for key, values := range request.URL.Query() {
		r.Query[key] = values[0]
	}
	say(r)
}

func fromPprof(data []byte) (*received, error) {
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, err
	}
	if err = p.CheckValid(); err != nil {
		return nil, err
	}
	r := &received{TimeNs: p.TimeNanos, DurationNs: p.DurationNanos, Totals: map[string]map[string]int64{}}
	for _, t := range p.SampleType {
		r.Totals[t.Type+"/"+t.Unit] = map[string]int64{}
	}
	for _, s := range p.Sample {
		name := nameOf(s.Location)
		for i, t := range p.SampleType {
			r.Totals[t.Type+"/"+t.Unit][name] += s.Value[i]
		}
	}
	return r, nil
}

// The innermost function; of a location without one nothing.
func nameOf(locations []*profile.Location) string {
	if len(locations) == 0 || len(locations[0].Line) == 0 {
		return ""
	}
	return locations[0].Line[0].Function.Name
}

func addPyroscope(mux *http.ServeMux) {
	path, handler := pushv1connect.NewPusherServiceHandler(pusher{})
	mux.Handle(path, handler)
	mux.HandleFunc("POST /ingest", ingest)
}
