package contacts

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/suppression/listfile"
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

// upload records the numbers of a file as opt-outs, once for each form.
func (s *Pages) upload(p *web.Page) error {
	file, _, err := p.R.FormFile("file")
	if err != nil {
		return s.refused(p, faults{Import: "people.fault.file"})
	}
	defer file.Close()
	numbers, skipped, fault, err := readNumbers(p.R.Context(), file)
	if err != nil {
		return err
	}
	if fault.Import != "" || fault.File.Code != "" {
		return s.refused(p, fault)
	}
	if err := web.UseForm(p, "people.import_used", Path, "people.title"); err != nil {
		return err
	}
	if err := p.Audit("people.import", strconv.Itoa(len(numbers))); err != nil {
		return err
	}
	changes := make([]campaign.OptChange, len(numbers))
	for i, n := range numbers {
		changes[i] = campaign.OptChange{Phone: e164.Number(n).String(), Out: true, At: s.Now(), Origin: campaign.OriginFile}
	}
	if err := s.record(p, changes); err != nil {
		return err
	}
	return p.Done(Path, p.KeyFor("people.done.imported", len(numbers)), p.Number(len(numbers)), p.Number(skipped))
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

func (s *Pages) export(p *web.Page) error {
	found, err := s.exported(p)
	if err != nil {
		return err
	}
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

// readNumbers returns the numbers of a CSV file or an Excel workbook, and how many lines have none. fault says
// why the file cannot be used.
func readNumbers(ctx context.Context, file io.Reader) (numbers numberset.Set, skipped int, fault faults, err error) {
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, 0, fault, err
	}
	head, err := listfile.ReadHead(ctx, content, submission.Reading{})
	if err == nil && head.Column < 0 {
		return nil, 0, faults{Import: "people.fault.column"}, nil
	}
	var found listfile.Content
	if err == nil {
		found, err = listfile.Read(ctx, content, head.Column, submission.Reading{})
	}
	wrong, unusable := errors.AsType[*sheet.Error](err)
	switch {
	case unusable && wrong.Code != "empty" && wrong.Code != "no_rows":
		return nil, 0, faults{File: wrong.Fault()}, nil
	case err != nil && !unusable:
		return nil, 0, fault, err
	case len(found.Numbers) == 0:
		return nil, 0, faults{Import: "people.fault.no_numbers"}, nil
	}
	return found.Numbers, len(found.Refused), fault, nil
}
