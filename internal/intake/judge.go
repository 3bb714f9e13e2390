package intake

import (
	"cmp"
	"context"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/area"
)

// judged is what becomes of the lines of a part.
type judged struct {
	part    part
	verdict dispatch.Verdict     // of the part
	out     []submission.LeftOut // in the order of the file, with the numbers of the part that are invalid, withheld or noted
	zones   map[window.Zone]int  // of the people, by area code
	in      window.Set           // the zones of the accepted messages
}

// maxRounds is how often a number may get its next line in a part, because the one before has a fault.
const maxRounds = 3

// judge divides lines into the messages of a part and the lines that are left out: those with a
// fault, and repeated numbers. If the line of a number has a fault, its next line takes the place.
// Dispatch alone decides what a fault is of those that the sheet can read.
func (r *reader) judge(ctx context.Context, next submission.Submission, w *waiting) (j judged, err error) {
	j.out = w.unread
	lines, apart := r.separateWaiting(w)
	faulty := map[int]bool{} // by line
	for round := 1; ; round++ {
		j.part, j.verdict = apart.kept, dispatch.Verdict{}
		if len(j.part) > 0 {
			if j.verdict, err = r.Dispatch.Check(ctx, j.part.call(next, next.Check.Parts+1, apart.people)); err != nil {
				return j, err
			}
		}
		found := firstFaults(j.verdict)
		if len(found) == 0 {
			r.complete(&j, apart)
			return j, nil
		}
		for at, fault := range found {
			faulty[j.part[at].Line] = true
			j.out = append(j.out, leftOut(j.part[at], submission.KindFaulty, fault.Code, fault.Field))
		}
		apart = r.separate(lines, faulty, round < maxRounds)
	}
}

// separateWaiting returns the messages of waiting lines, and divides them into those kept and those repeated.
func (r *reader) separateWaiting(w *waiting) (lines part, s *separated) {
	lines = make(part, len(w.lines))
	s = &separated{kept: make(part, 0, w.kept)}
	for n, l := range w.lines {
		lines[n] = r.messageOf(l)
		s.put(lines[n], l.repeated)
	}
	return lines, s
}

// separate divides the lines without a fault into those kept and those repeated. If free is true, another
// line of a number can take the place of one with a fault.
func (r *reader) separate(lines part, faulty map[int]bool, free bool) *separated {
	s := &separated{numbers: map[uint64]struct{}{}}
	for _, m := range lines {
		switch {
		case !faulty[m.Line]:
			s.put(m, repeats(m.Number, r.seen, s.numbers))
		case m.Number != 0 && !free:
			s.numbers[m.Number] = struct{}{}
		}
	}
	return s
}

func firstFaults(v dispatch.Verdict) map[int]dispatch.Fault {
	first := map[int]dispatch.Fault{}
	for _, f := range v.Faults {
		if _, known := first[f.Message]; f.Message >= 0 && !known {
			first[f.Message] = f
		}
	}
	return first
}

// complete adds the lines with a number that is repeated, invalid or withheld.
func (r *reader) complete(j *judged, s *separated) {
	for _, m := range s.repeated {
		j.out = append(j.out, leftOut(m, submission.KindRepeated, "", ""))
	}
	for _, rejected := range j.verdict.Rejected {
		j.out = append(j.out, invalid(j.part[rejected.Message], rejected))
	}
	j.addWithheld()
	j.addNoted()
	slices.SortStableFunc(j.out, func(a, b submission.LeftOut) int { return cmp.Compare(a.Line, b.Line) })
}

// addWithheld adds the accepted messages that are withheld from their people, and counts the others by zone.
func (j *judged) addWithheld() {
	j.zones, j.in = map[window.Zone]int{}, 0
	rejected, withheld := j.verdict.Rejected, j.verdict.Withheld
	for at, m := range j.part {
		switch {
		case len(rejected) > 0 && rejected[0].Message == at:
			rejected = rejected[1:]
			continue
		case len(withheld) > 0 && withheld[0].Message == at:
			j.out = append(j.out, withheldLine(m, withheld[0].Why))
			withheld = withheld[1:]
		default:
			j.zones[area.Zone(m.Number)]++
		}
		j.in = j.in.With(area.Zone(m.Number))
	}
}

// addNoted adds the accepted messages whose number a person should look at.
func (j *judged) addNoted() {
	for _, m := range j.part {
		if m.Number == 0 {
			continue
		}
		if kind, country := sheet.Noted(e164.Number(m.Number), m.Written); kind != "" {
			j.out = append(j.out, noted(m, kind, country))
		}
	}
}

// noted returns a line that gets a message. The message has its variables.
func noted(m submission.Message, kind submission.Kind, code string) submission.LeftOut {
	l := leftOut(m, kind, code, "")
	l.Meant, l.Vars = e164.Number(m.Number).String(), nil
	return l
}

// invalid returns a line with an invalid number, and the one that may be meant.
func invalid(m submission.Message, why dispatch.Rejection) submission.LeftOut {
	l := leftOut(m, submission.KindInvalid, why.Code, "")
	l.Meant = why.Meant()
	return l
}

func withheldLine(m submission.Message, why reach.Why) submission.LeftOut {
	l := leftOut(m, submission.Kind(why.Code), "", "")
	l.List = why.List
	return l
}

// sent returns the classes of the messages that are sent.
func (j judged) sent() campaign.ClassCounts {
	classes := j.verdict.Classes
	for _, w := range j.verdict.Withheld {
		classes = classes.Less(w.Class)
	}
	return classes
}

func (j judged) addTo(f *submission.Findings) {
	for _, l := range j.out {
		f.Count(l)
	}
	f.Accepted += j.verdict.Accepted
	f.Classes.Add(j.verdict.Classes)
	for _, w := range j.verdict.Withheld {
		f.AddWithheldClass(w.Code, w.Class)
	}
	f.AddZones(j.zones)
	if j.verdict.Accepted > 0 {
		f.AddPart(j.in, j.verdict.Classes)
	}
	addGeneral(f, j.verdict)
	for _, at := range j.verdict.InvalidURLs {
		f.BadURLs.Add(j.part[at].Line)
	}
}

// addGeneral adds the faults of the campaign. Whether the budget has room is judged when the campaign
// is shown and sent.
func addGeneral(f *submission.Findings, v dispatch.Verdict) {
	for _, why := range v.Faults {
		if why.Message < 0 && why.Code != campaign.CodeBudgetExceeded && !slices.Contains(f.General, why.Code) {
			f.General = append(f.General, why.Code)
		}
	}
}

// separated are lines to keep, and those whose number an earlier line has.
type separated struct {
	numbers  map[uint64]struct{}
	kept     part
	repeated part
	people   int // of kept, to valid numbers
}

func (s *separated) put(m submission.Message, repeated bool) {
	if repeated {
		s.repeated = append(s.repeated, m)
		return
	}
	s.kept = append(s.kept, m)
	if m.Number != 0 {
		s.people++
	}
}

// repeats reports whether an earlier line has the number of a line: one of a part, whose numbers are seen, or one beside it.
// It adds the number to those beside it. Invalid numbers, 0, do not repeat each other.
func repeats(number uint64, seen, beside map[uint64]struct{}) bool {
	if number == 0 {
		return false
	}
	_, before := seen[number]
	_, here := beside[number]
	beside[number] = struct{}{}
	return before || here
}

func leftOut(m submission.Message, kind submission.Kind, code, column string) submission.LeftOut {
	l := submission.LeftOut{Line: m.Line, Kind: kind, Code: code, Column: column, Phone: m.Cell, UID: m.UID, Vars: m.Vars}
	if m.Cell != m.Phone && m.Number != 0 {
		l.Meant = e164.Number(m.Number).String()
	}
	return l
}
