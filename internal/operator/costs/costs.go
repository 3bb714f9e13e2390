// Package costs estimates what messages cost at AWS, from what all tenants send.
package costs

// Load is a number of messages a day of all tenants, with the dollars that a million of them cost at AWS.
type Load struct {
	Day     int
	Dollars float64
}

// ByLoad are the costs of docs/proofs.md with two endpoints, without data transfer, the fewest messages first.
var ByLoad = []Load{{100_000, 9.3}, {1_000_000, 9.6}, {10_000_000, 7.5}, {100_000_000, 7.8}}

// TransferDollars is the data transfer of a million messages.
const TransferDollars = 0.57

const million = 1_000_000

// Assumptions say what an estimate leaves out.
var Assumptions = []string{
	"simulated from metered units at the prices of us-east-1: ±20 % up to 1 million messages a day, ±30 % above; about a third more in sa-east-1 (assumed)",
	"each message is delivered, read, and posted to two endpoints; without them it costs less",
	"without what the stack costs without messages, storage, clicks, exports and pages",
	"without what the provider charges for its messages",
}

// Estimate is what the messages of a tenant cost at AWS.
type Estimate struct {
	Load     Load
	Messages float64 // dollars
	Transfer float64 // dollars
}

// Of returns the estimate for a number of messages while all tenants send so many a day. It takes the largest load that
// they reach, or else the smallest one.
func Of(messages, aDay int) Estimate {
	load := ByLoad[0]
	for _, l := range ByLoad {
		if l.Day <= aDay {
			load = l
		}
	}
	return Estimate{load, float64(messages) / million * load.Dollars, float64(messages) / million * TransferDollars}
}
