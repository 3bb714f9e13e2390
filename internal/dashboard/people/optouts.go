package people

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/phone"
)

func (s *Pages) add(p *web.Page) error {
	number, rejection := phone.ParseTyped(p.Field("phone"))
	if rejection != nil {
		return s.refused(p, faults{Add: p.Rejection(rejection)})
	}
	out, _, err := s.OptOuts.Since(p.R.Context(), p.Session.Tenant, number.String())
	if err != nil {
		return err
	}
	if out {
		return p.Done(Path, "people.done.known")
	}
	if err := s.change(p, "people.opt_out", campaign.OptChange{Phone: number.String(), Out: true, Origin: campaign.OriginHand}); err != nil {
		return err
	}
	return p.Done(Path, "people.done.added")
}

// change writes the audit log and records one opt-out or opt-in.
func (s *Pages) change(p *web.Page, action string, c campaign.OptChange) error {
	if err := p.Audit(action, masked(c.Phone)); err != nil {
		return err
	}
	c.At = s.Now()
	return s.record(p, []campaign.OptChange{c})
}

// record records opt-outs and opt-ins. They decide on the doubtful replies of their numbers.
func (s *Pages) record(p *web.Page, changes []campaign.OptChange) error {
	ctx, tenant := p.R.Context(), p.Session.Tenant
	if err := s.OptOuts.Record(ctx, tenant, changes); err != nil {
		return err
	}
	changed := make(map[string]time.Time, len(changes))
	for _, c := range changes {
		changed[c.Phone] = time.Time{}
	}
	if err := s.Store.SettleReplies(ctx, tenant, changed); err != nil { // the changes are recorded all the same
		slog.WarnContext(ctx, "settling doubtful replies failed; an admin decides on them", "tenant", tenant, "error", err)
	}
	return nil
}

type removal struct {
	Phone string
	Since time.Time
	Fault string
}

func (s *Pages) confirm(p *web.Page) error { return s.askRemoval(p, http.StatusOK, "") }

func (s *Pages) askRemoval(p *web.Page, status int, fault string) error {
	number, since, err := s.optedOut(p)
	if err != nil {
		return err
	}
	if number == "" {
		return p.Done(Path, "people.done.removed") // the form was sent twice
	}
	return p.RenderStatus(status, "people.remove_title", "people_remove.html", removal{number, since, fault})
}

// optedOut returns the form's number if it is opted out, else "", and since when.
func (s *Pages) optedOut(p *web.Page) (number string, since time.Time, err error) {
	sought, found := phone.Seek(p.Field("phone"))
	if !found {
		return "", since, campaign.ErrNotFound
	}
	return s.OptOuts.FirstOut(p.R.Context(), p.Session.Tenant, sought.E164())
}

// remove deletes an opt-out. The person must have asked for it.
func (s *Pages) remove(p *web.Page) error {
	if p.Field("asked") == "" {
		return s.askRemoval(p, http.StatusUnprocessableEntity, "people.fault.asked")
	}
	number, _, err := s.optedOut(p)
	if err != nil {
		return err
	}
	if number != "" {
		if err := s.change(p, "people.opt_in", campaign.OptChange{Phone: number}); err != nil {
			return err
		}
	}
	return p.Done(Path, "people.done.removed")
}

// maxExported is the maximum number of opt-outs in a file: about 4 MB of Lambda's 6 MB.
const maxExported = 150_000

// exportFiles returns the numbers of the files of an export: one, or one for each shard.
func (s *Pages) exportFiles(count int, exact bool) []int {
	switch {
	case count == 0 && exact:
		return nil
	case count <= maxExported && exact:
		return []int{0}
	}
	files := make([]int, s.Shards)
	for i := range files {
		files[i] = i + 1
	}
	return files
}

func export(p *web.Page, found []campaign.OptedOut) error {
	if len(found) > maxExported {
		return &web.Refusal{Status: http.StatusConflict, Key: "people.fault.too_many", To: Path, ToKey: "people.title"}
	}
	if err := p.Audit("people.export", strconv.Itoa(len(found))); err != nil {
		return err
	}
	file := campaign.AppendRow(nil, web.CSVSeparator, p.T("people.phone"), p.T("people.since"), p.T("people.origin"))
	for _, o := range found {
		file = campaign.AppendRow(file, web.CSVSeparator, o.Phone, p.When(o.Since), p.T("people.origin."+o.Origin.String()))
	}
	return p.CSV("people.file_name", file)
}

// exported returns the opt-outs of the requested file, and one more if there are too many.
func (s *Pages) exported(p *web.Page) ([]campaign.OptedOut, error) {
	ctx, tenant, asked := p.R.Context(), p.Session.Tenant, p.Field("file")
	if asked == "" {
		found, _, err := s.OptOuts.List(ctx, tenant, "", maxExported+1)
		return found, err
	}
	file, err := strconv.Atoi(asked)
	if err != nil || file < 1 || file > s.Shards {
		return nil, campaign.ErrNotFound
	}
	return s.OptOuts.ListShard(ctx, tenant, file-1, maxExported+1)
}
