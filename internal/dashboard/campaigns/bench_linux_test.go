package campaigns_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/campaigns"
)

// BenchmarkPages reports the CPU time of the pages, calls of the stack's table included.
func BenchmarkPages(b *testing.B) {
	d := newService(b)
	first := d.running("Natal")
	for i := range 25 { // of which two have to be read
		d.accept(uuid(), fmt.Sprintf("Campanha %d", i), 1, 10, func(b *campaign.Batch) {
			b.Scheduled, b.AcceptedAt = i < 2, noon.Add(time.Duration(i)*time.Second)
		})
	}
	many := d.running("Carnaval")
	for ordinal := 2; ordinal <= 500; ordinal++ {
		d.record(d.accept(many.CampaignID, "Carnaval", ordinal, 20, nil), campaign.OutcomeSent, "", 0, 19, noon)
	}
	for name, path := range map[string]string{
		"list": campaigns.Path, "one batch": pathOf(first), "500 batches": pathOf(many), "messages": pathOf(first) + "/messages",
	} {
		b.Run(name, func(b *testing.B) {
			reader := d.admin()
			before := processorTime(b)
			for b.Loop() {
				if a := reader.Get(path); a.Status != 200 {
					b.Fatal(a.Status)
				}
			}
			b.ReportMetric(float64((processorTime(b)-before)/time.Duration(b.N))/float64(time.Millisecond), "cpu-ms/op")
			b.ReportMetric(float64(len(reader.Get(path).Body)), "bytes")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
