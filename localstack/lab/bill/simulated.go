package bill

// Simulated is the cost of a million messages at a number of messages a day, in dollars in us-east-1 without data
// transfer. A simulation of arrivals outside this project computed it from the metered units. docs/proofs.md says how.
type Simulated struct {
	Day         float64 // messages
	Name        string  // of the number
	Dollars     float64 // with two endpoints
	OneEndpoint float64
	DynamoDB    float64 // part of Dollars: writes and reads
}

// ByLoad are the simulated costs, with the fewest messages first.
var ByLoad = []Simulated{
	{100e3, "100,000", 9.3, 8.9, 2.4}, {1e6, "1 million", 9.6, 9.0, 3.1}, {10e6, "10 million", 7.5, 6.8, 2.9}, {100e6, "100 million", 7.8, 7.2, 3.7},
}

// AtLoad returns the simulated cost at a number of messages a day, which is one of ByLoad.
func AtLoad(day float64) Simulated {
	for _, s := range ByLoad {
		if s.Day == day {
			return s
		}
	}
	return Simulated{}
}
