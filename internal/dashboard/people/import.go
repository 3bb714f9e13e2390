package people

import (
	"log/slog"
	"net/http"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/review"
	"campaign-dispatch/internal/phone/e164"
)

// filesPath is the path of the files whose import a person has not decided about.
const filesPath = Path + "/opt-outs/files"

func toFile(p *web.Page, _ review.Numbers) error {
	return p.Redirect(filesPath + "/" + p.R.PathValue("file"))
}

// upload keeps the file of an import, and leads to its review.
func (s *Pages) upload(p *web.Page) error {
	file, err := review.Keep(p, s.Files)
	if web.FaultOf("", err) != "" {
		return s.refused(p, faults{Import: "people.fault.file"})
	}
	if err != nil {
		return err
	}
	return p.Redirect(filesPath + "/" + file)
}

func (s *Pages) review(p *web.Page, v review.Numbers) error {
	return s.showImport(p, http.StatusOK, v)
}

func (*Pages) showImport(p *web.Page, status int, v review.Numbers) error {
	status, v = v.Answered(status)
	return p.RenderStatus(status, "people.import_review", "people_import.html", v)
}

// readImport reads what an import would change. The known numbers have opted out.
func (s *Pages) readImport(p *web.Page) (v review.Numbers, err error) {
	path := filesPath + "/" + p.R.PathValue("file")
	if v, err = review.ReadEverybody(p, s.Files, path, Path, "people.title"); err != nil || !v.Usable() {
		return v, err
	}
	v.Known, err = s.OptOuts.CountOut(p.R.Context(), p.Session.Tenant, v.Numbers)
	return v, err
}

// importNumbers records the numbers of a reviewed file as opt-outs, once for each form.
func (s *Pages) importNumbers(p *web.Page) error {
	if err := web.UseForm(p, "people.import_used", Path, "people.title"); err != nil {
		return err
	}
	v, err := s.readImport(p)
	if err != nil {
		return err
	}
	numbers := v.Numbers
	if v.Wrong || len(numbers) == 0 {
		return s.showImport(p, http.StatusUnprocessableEntity, v)
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
	if err := s.Files.Delete(p.R.Context(), p.Session.Tenant, v.File); err != nil { // the bucket deletes it later
		slog.WarnContext(p.R.Context(), "file of an import not deleted", "tenant", p.Session.Tenant, "error", err)
	}
	return p.Done(Path, p.KeyFor("people.done.imported", len(numbers)), p.Number(len(numbers)), p.Number(v.Findings.LeftOut()))
}

// leftOut downloads the lines of a file that are left out.
func leftOut(p *web.Page, v review.Numbers) error {
	return v.Download(p)
}
