package campaigns

import (
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/rollout"
)

// reactionsPage shows who opted out and who replied, by wave.
type reactionsPage struct {
	campaign.Campaign

	At          time.Time // when they were counted
	Number      int       // of the last wave that was opened
	Signal      *signal   // of its opt-outs, nil if they are not known
	Rows        []waveReactions
	Before      waveReactions // before the wave of the person was sent
	Total       waveReactions
	MoreReplies bool // only the newest were read
}

// waveReactions are the reactions of a wave's people since it was sent.
type waveReactions struct {
	Number         int // 0 for batches that are in no wave
	Delivered      int
	OptOuts        int
	Replied        int // people
	OptOutsCounted bool
	RepliesCounted bool
}

// waveReactions counts the opt-outs and the replies of the people of each wave.
func (s *Pages) waveReactions(p *web.Page, c campaign.Campaign) error {
	if c.Submission.Cells.Waves() == 0 {
		return campaign.ErrNotFound
	}
	all := insight.ResultsOf(c, s.Now())
	l := reactionsPage{Campaign: c, At: all.At, Total: waveReactions{Delivered: all.Delivered}}
	sent := sentWaves(newWaves(c, all, nil))
	for _, w := range sent {
		l.Rows = append(l.Rows, waveReactions{Number: w.Number, Delivered: w.Delivered})
	}
	if err := s.addWaveOptOuts(p, &l, sent, all); err != nil {
		return err
	}
	if err := s.addWaveReplies(p, &l, sent, all); err != nil {
		return err
	}
	sub, err := s.submission(p, c)
	if err != nil {
		return err
	}
	from, err := s.resultsFrom(p, sub)
	if err != nil {
		return err
	}
	l.judge(from.After(s.Now()))
	return p.RenderOr("campaigns_waves_count.html", "campaigns.wave_reactions", "campaigns_waves_reactions.html", l)
}

// sentWaves returns the waves that have messages, and the batches that are in none as the last one.
func sentWaves(all *waves) (sent []wave) {
	for _, w := range all.Rows {
		if w.Begun() {
			sent = append(sent, w)
		}
	}
	if all.Others != nil {
		sent = append(sent, *all.Others)
	}
	return sent
}

// judge sets the signal of the last wave that was opened. early means that its results have not had their time.
func (l *reactionsPage) judge(early bool) {
	for i := range l.Rows {
		if r := l.Rows[i]; r.Number > 0 {
			l.Number, l.Signal = r.Number, nil
			if r.OptOutsCounted {
				l.Signal = &signal{rollout.Share{K: min(r.OptOuts, r.Delivered), N: r.Delivered}, signalOptOuts, early}
			}
		}
	}
}

func (s *Pages) addWaveOptOuts(p *web.Page, l *reactionsPage, sent []wave, all insight.Results) error {
	if !slices.ContainsFunc(sent, func(w wave) bool { return countsOptOuts(w.Results, all.At) }) {
		return nil
	}
	ctx := p.R.Context()
	changes, known, err := s.OptOuts.Recent(ctx, l.Tenant)
	if err != nil || !known {
		return err
	}
	byBatch, err := s.Messages.OptOutsByBatch(ctx, l.ID, all.First, changes)
	at := func(c campaign.OptChange) time.Time { return c.At }
	l.Total.OptOutsCounted = true
	for i, w := range sent {
		since, before := split(w, byBatch, at)
		l.Rows[i].OptOuts, l.Rows[i].OptOutsCounted = len(since), countsOptOuts(w.Results, all.At)
		l.Before.OptOuts += len(before)
		l.Total.OptOuts += len(since) + len(before)
		l.Total.OptOutsCounted = l.Total.OptOutsCounted && l.Rows[i].OptOutsCounted
	}
	return err
}

func (s *Pages) addWaveReplies(p *web.Page, l *reactionsPage, sent []wave, all insight.Results) error {
	if !countsReplies(all) {
		return nil
	}
	ctx := p.R.Context()
	replies, err := s.Store.Replies(ctx, l.Tenant, all.First, all.Last.Add(repliesFor), maxReplies)
	if err != nil {
		return err
	}
	l.MoreReplies = len(replies) == maxReplies
	byBatch, err := s.Messages.RepliesByBatch(ctx, l.ID, replies)
	at := func(r reaction.Reply) time.Time { return r.At }
	l.Total.RepliesCounted = true
	for i, w := range sent {
		l.Rows[i].RepliesCounted = true
		since, before := split(w, byBatch, at)
		l.Rows[i].Replied = peopleOf(since)
		early := peopleOf(append(before, since...)) - l.Rows[i].Replied
		l.Before.Replied += early
		l.Total.Replied += l.Rows[i].Replied + early
	}
	return err
}

// split returns what the people of a wave did since it was sent, and what they did before.
func split[T any](w wave, byBatch map[int][]T, at func(T) time.Time) (since, before []T) {
	for _, b := range w.batches {
		for _, one := range byBatch[b.Ordinal] {
			if at(one).Before(w.First) {
				before = append(before, one)
			} else {
				since = append(since, one)
			}
		}
	}
	return since, before
}
