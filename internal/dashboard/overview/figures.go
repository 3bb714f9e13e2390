package overview

import "campaign-dispatch/internal/campaign"

// figure is a number of the period with the one of the period before.
type figure struct {
	Key       string
	N, Before int
	Of        int // the sent messages, of which N is a part; 0 for none
}

// Change returns how much N is above the period before. It is for Page.Percent.
func (f figure) Change() int { return f.N - f.Before }

// Down reports whether N is below the period before.
func (f figure) Down() bool { return f.N < f.Before }

// Less returns how much N is below the period before.
func (f figure) Less() int { return f.Before - f.N }

func figures(n, before campaign.DayCounts) []figure {
	return []figure{
		{"sent", n.Sent, before.Sent, 0},
		{"delivered", n.Delivered, before.Delivered, n.Sent},
		{"read", n.Read, before.Read, n.Sent},
		{"lost", n.Failed, before.Failed, 0},
		{"opted_out", n.OptedOut, before.OptedOut, 0},
	}
}
