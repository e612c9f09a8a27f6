// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"
)

// startCollector starts the collector's own receiver, without a collector around it.
func startCollector() string {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	address := probe.Addr().String()
	probe.Close()
	factory := otlpreceiver.NewFactory().(xreceiver.Factory)
	config := factory.CreateDefaultConfig()
	if err = confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"http": map[string]any{"endpoint": address}}}).Unmarshal(config); err != nil {
		panic(err)
	}
	sink, err := xconsumer.NewProfiles(take)
	if err != nil {
		panic(err)
	}
	settings := receiver.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings()}
	r, err := factory.CreateProfiles(context.Background(), settings, config, sink)
	if err != nil {
		panic(err)
	}
	if err = r.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		panic(err)
	}
	return address
}

func texts(attributes pcommon.Map) map[string]string {
	of := map[string]string{}
	for key, value := range attributes.All() {
		of[key] = value.AsString()
	}
	return of
}

func take(_ context.Context, all pprofile.Profiles) error {
	d := &dictionary{ProfilesDictionary: all.Dictionary()}
	first := true
	for _, resource := range all.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, p := range scope.Profiles().All() {
				r := d.take(p)
				r.Labels = texts(resource.Resource().Attributes())
				if r.Labels["service.name"] == "" || len(r.Labels) != resource.Resource().Attributes().Len() {
					d.fault("the resource has no service.name, or a name twice")
				}
				if scope.Scope().Name() != "kymo" {
					d.fault("the scope is %q", scope.Scope().Name())
				}
				if first {
					d.checkTables()
				}
				first = false
				r.Faults, d.faults = d.faults, nil
				say(r)
			}
		}
	}
	return nil
}

type dictionary struct {
	pprofile.ProfilesDictionary
	faults []string
}

func (d *dictionary) fault(format string, values ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, values...))
}

func (d *dictionary) text(i int32) string {
	if i < 0 || int(i) >= d.StringTable().Len() {
		d.fault("string %d", i)
		return ""
	}
	return d.StringTable().At(int(i))
}

func (d *dictionary) attributes(of pcommon.Int32Slice) map[string]string {
	texts := map[string]string{}
	for _, i := range of.All() {
		if i <= 0 || int(i) >= d.AttributeTable().Len() {
			d.fault("attribute %d", i)
			continue
		}
		a := d.AttributeTable().At(int(i))
		key := d.text(a.KeyStrindex())
		if _, has := texts[key]; has || key == "" {
			d.fault("the attribute %q twice", key)
		}
		texts[key] = a.Value().AsString()
	}
	return texts
}

func (d *dictionary) location(i int32) (name string) {
	if i <= 0 || int(i) >= d.LocationTable().Len() {
		d.fault("location %d", i)
		return ""
	}
	l := d.LocationTable().At(int(i))
	d.attributes(l.AttributeIndices())
	if l.MappingIndex() < 0 || int(l.MappingIndex()) >= d.MappingTable().Len() {
		d.fault("mapping %d", l.MappingIndex())
	} else if m := d.MappingTable().At(int(l.MappingIndex())); l.MappingIndex() > 0 && (l.Address() < m.MemoryStart() || l.Address() >= m.MemoryLimit()) {
		d.fault("the address %#x is not in its mapping", l.Address())
	}
	for k, line := range l.Lines().All() {
		f := line.FunctionIndex()
		if f <= 0 || int(f) >= d.FunctionTable().Len() {
			d.fault("function %d", f)
		} else if k == 0 {
			name = d.text(d.FunctionTable().At(int(f)).NameStrindex())
		}
	}
	return name
}

// The innermost function of a stack.
func (d *dictionary) leaf(i int32) (name string) {
	if i <= 0 || int(i) >= d.StackTable().Len() {
		d.fault("stack %d", i)
		return ""
	}
	for k, location := range d.StackTable().At(int(i)).LocationIndices().All() {
		if of := d.location(location); k == 0 {
			name = of
		}
	}
	return name
}

func (d *dictionary) take(p pprofile.Profile) *received {
	id := p.ProfileID()
	totals := map[string]int64{}
	r := &received{By: "otlp", ID: hex.EncodeToString(id[:]), TimeNs: int64(p.Time()), DurationNs: int64(p.DurationNano())}
	r.Query = d.attributes(p.AttributeIndices())
	r.Totals = map[string]map[string]int64{d.text(p.SampleType().TypeStrindex()) + "/" + d.text(p.SampleType().UnitStrindex()): totals}
	for _, s := range p.Samples().All() {
		if s.Values().Len() != 1 || s.TimestampsUnixNano().Len() != 0 {
			d.fault("a sample has not one value")
		}
		if of := d.attributes(s.AttributeIndices()); of["thread.id"] == "" || of["process.pid"] == "" {
			d.fault("a sample without its thread")
		}
		for _, value := range s.Values().All() {
			totals[d.leaf(s.StackIndex())] += value
		}
	}
	return r
}

// The first row of each table is empty, and no other is there twice.
func (d *dictionary) checkTables() {
	if d.text(0) != "" || d.MappingTable().At(0).MemoryLimit() != 0 || d.LocationTable().At(0).Lines().Len() != 0 ||
		d.FunctionTable().At(0).NameStrindex() != 0 || d.StackTable().At(0).LocationIndices().Len() != 0 ||
		!d.LinkTable().At(0).TraceID().IsEmpty() || d.AttributeTable().At(0).KeyStrindex() != 0 {
		d.fault("a first row is not empty")
	}
	unique(d, "string", d.StringTable().Len(), func(i int) any { return d.StringTable().At(i) })
	unique(d, "stack", d.StackTable().Len(), func(i int) any { return d.StackTable().At(i).LocationIndices().AsRaw() })
	unique(d, "attribute", d.AttributeTable().Len(), func(i int) any {
		a := d.AttributeTable().At(i)
		return []any{a.KeyStrindex(), a.Value().AsString(), a.Value().Type(), a.UnitStrindex()}
	})
	unique(d, "mapping", d.MappingTable().Len(), func(i int) any {
		m := d.MappingTable().At(i)
		return []any{m.MemoryStart(), m.MemoryLimit(), m.FileOffset(), m.FilenameStrindex(), m.AttributeIndices().AsRaw()}
	})
}

func unique(d *dictionary, what string, count int, row func(int) any) {
	seen := map[string]bool{}
	for i := range count {
		key := fmt.Sprint(row(i))
		if seen[key] {
			d.fault("two rows of %s are %s", what, key)
		}
		seen[key] = true
	}
}
