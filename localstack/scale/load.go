package scale

import "campaign-dispatch/internal/campaign"

// Load is what clients and the provider ask of the service at the peak.
type Load struct {
	Name     string
	Calls    float64 // dispatch calls a second
	PerCall  float64 // messages of a call
	Tenants  int
	Hottest  float64 // share of the tenant with the most messages
	Isolated float64 // share of the events that are alone of their batch in their window
	Batches  float64 // of the hottest campaign
}

// Endpoints is how many a tenant has.
const Endpoints = 2

const (
	eventsPerMessage   = 2  // delivered and read
	credentials        = 10 // of a tenant, which renew their tokens in one minute
	second             = 1.0
	day, hour          = 24 * 60 * 60 * second, 60 * 60 * second
	evening            = 5 // times the mean
	tenants            = 300
	dailyMessages      = 100e6
	campaignMessages   = 20e6
	callsASecond       = 10e3
	manyTenants        = 1000
	tenantCalls        = 25.0 // a second, by default the most
	smallBatches       = 10e3 // of a campaign of single messages
	mixIsolated        = 0.25 // half of the reads
	tokenRenewalWindow = 60 * second
	rise               = 60 * second // from nothing to the peak
	scalingPeriod      = 10 * second // of Lambda's scaling rate
)

// Loads are those that the service is judged by.
func Loads() []Load {
	daily := dailyMessages / day * evening / campaign.MaxMessages
	return []Load{
		{
			Name:  "100 million messages a day, 300 tenants, evening peak of 5 times the mean",
			Calls: daily, PerCall: campaign.MaxMessages, Tenants: tenants, Hottest: zipf(tenants), Isolated: mixIsolated,
			Batches: dailyMessages * zipf(tenants) / campaign.MaxMessages,
		},
		{
			Name:  "one tenant, a campaign of 20 million messages in an hour",
			Calls: campaignMessages / hour / campaign.MaxMessages, PerCall: campaign.MaxMessages, Tenants: 1, Hottest: 1, Isolated: mixIsolated,
			Batches: campaignMessages / campaign.MaxMessages,
		},
		{
			Name:  "10,000 dispatch calls a second of one message, 1,000 tenants, none above 25 calls a second",
			Calls: callsASecond, PerCall: 1, Tenants: manyTenants, Hottest: tenantCalls / callsASecond, Isolated: 1,
			Batches: smallBatches,
		},
	}
}

// zipf is the share of the first of n, where the k-th has a k-th of its.
func zipf(n int) float64 {
	sum := 0.0
	for k := 1; k <= n; k++ {
		sum += 1 / float64(k)
	}
	return 1 / sum
}

// Messages is how many are accepted, and sent, a second.
func (l Load) Messages() float64 { return l.Calls * l.PerCall }

// webhooks is how many of each endpoint are posted a second.
func (l Load) webhooks() float64 { return l.Messages() + l.Events() }

// Events is how many the provider sends a second.
func (l Load) Events() float64 { return eventsPerMessage * l.Messages() }

// call is the step that a dispatch call of the load is.
func (l Load) call() string {
	if l.PerCall == 1 {
		return Single
	}
	return Batch
}

// Steps are how many steps are done a second. The first event of a batch of one message
// completes the batch, the second does not.
func (l Load) Steps() map[string]float64 {
	alone := l.Events() * l.Isolated
	steps := map[string]float64{
		Token: float64(l.Tenants) * credentials / tokenRenewalWindow, l.call(): l.Calls,
		Isolated: alone, Group: l.Events() * (1 - l.Isolated) / GroupSize,
	}
	if l.PerCall == 1 {
		steps[Isolated], steps[IsolatedSingle] = alone/eventsPerMessage, alone/eventsPerMessage
	}
	return steps
}
