package campaigns

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/rollout"
)

// nextWave is the wave that a person can open, and what its decision needs.
type nextWave struct {
	waveForm

	Number, Of int
	People     int
	Withheld   int // of People, who are sent nothing
	Later      int // people of the waves after it
	Priced     bool
	Price      campaign.Money
	Signals    []signal  // of the wave before
	DecideFrom time.Time // when the results of the wave before have had their time
	Early      bool      // that time has not come
	OpensFrom  time.Time // zero if it can be opened now
	Until      time.Time // when the rest is discarded
	Paused     bool
}

// Before returns the number of the wave before.
func (n nextWave) Before() int { return n.Number - 1 }

// waveForm is the form that opens a wave, if it was refused.
type waveForm struct {
	Fault      string // of the reason, the key of a text, "" for none
	EarlyFault bool   // it is not confirmed that the pause is still running
	Reason     string // that was entered
}

// nextWave returns the wave that waits for a person, nil if none does.
func (s *Pages) nextWave(p *web.Page, v *view, sub *submission.Submission) (*nextWave, error) {
	if sub == nil || sub.State != submission.StateHolding || !v.CancelledAt.IsZero() || !s.Now().Before(sub.FilesUntil()) {
		return nil, nil //nolint:nilnil // nothing waits
	}
	number := sub.NextWave()
	if number == 0 || number > len(v.Waves.Rows) {
		return nil, nil //nolint:nilnil // nothing waits
	}
	of := sub.OfWave(number)
	n := &nextWave{
		Number: number, Of: len(v.Waves.Rows), People: of.Accepted, Withheld: of.Withheld, Later: sub.PeopleAfter(number), Until: sub.FilesUntil(), Paused: !v.PausedAt.IsZero(),
	}
	var err error
	if n.DecideFrom, err = s.resultsFrom(p, sub); err != nil {
		return nil, err
	}
	n.Early = n.DecideFrom.After(s.Now())
	n.Signals = signalsOf(v.Waves.Rows[number-2], n.Early)
	if from := intake.OpensFrom(*sub); from.After(s.Now()) {
		n.OpensFrom = from
	}
	billing, err := s.Store.Billing(p.R.Context(), v.Tenant)
	n.Priced, n.Price = billing.Set(), billing.Cost(of.Sent)
	return n, err
}

// resultsFrom returns when the results of the last opened wave have had their time. It is zero without the submission.
func (s *Pages) resultsFrom(p *web.Page, sub *submission.Submission) (time.Time, error) {
	if sub == nil {
		return time.Time{}, nil
	}
	return s.Waves.ResultsFrom(p.R.Context(), *sub)
}

// signal is a share of a wave's people that says whether the next wave should go.
type signal struct {
	rollout.Share

	Key string
	// Rises means that the share is that of a wave whose results have not had their time.
	Rises bool
}

// The signals.
const (
	signalFailures  = "failures"
	signalDelivered = "delivered"
	signalRead      = "read"
	signalOptOuts   = "opt_outs"
)

// signalsOf returns the signals of a wave that its batches show. early means that its results have not had their time.
func signalsOf(w wave, early bool) []signal {
	failed, ended := insight.Failures(w.batches)
	return []signal{
		{rollout.Share{K: failed, N: ended}, signalFailures, false},
		{rollout.Share{K: w.Delivered, N: w.Sent}, signalDelivered, early},
		{rollout.Share{K: w.Read, N: w.Delivered}, signalRead, early},
	}
}

// Fewer people say little about all of them.
const (
	enough        = 200
	enoughOptOuts = 500
)

func (s signal) few() bool {
	if s.Key == signalOptOuts {
		return s.N < enoughOptOuts
	}
	return s.N < enough
}

// Says returns the share in words, and how much it says about all people of the campaign. While results arrive, that is
// nothing: those who opt out or read late would be missing.
func (s signal) Says(p *web.Page) string {
	key := "campaigns.signal." + s.Key
	if s.N == 0 {
		return p.T(key + ".nothing")
	}
	low, high := s.Interval()
	from, to := tenths(p, low, false), tenths(p, high, true)
	counted := p.Count(key, s.K, p.Number(s.N), p.Percent(s.K, s.N))
	switch {
	case s.Rises && s.K < s.N:
		return counted + " " + p.T("campaigns.signal.early")
	case !s.few():
		return counted + " " + p.T("campaigns.signal.all", from, to)
	case s.K == 0 && p.Has(key+".none"):
		return counted + " " + p.Count(key+".none", s.N, to)
	}
	return counted + " " + p.T("campaigns.signal.few", from, to)
}

// tenths returns a share in tenths of a per cent, rounded up or down, so that an interval is not shown as a smaller one.
func tenths(p *web.Page, share float64, up bool) string {
	const all, rounding = 1000, 1e-9
	n := int(share*all + rounding)
	if up && float64(n)+rounding < share*all {
		n++
	}
	return p.Percent(n, all)
}
