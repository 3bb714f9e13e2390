package audit

import (
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// maxExported is the maximum number of entries in a file.
const maxExported = 10_000

// export answers with the matching entries as a file that Brazilian spreadsheets open.
func (s *Pages) export(p *web.Page, f filter) error {
	entries, _, err := s.find(p, f, "", maxExported, maxExported)
	if err != nil {
		return err
	}
	const separator = ';'
	file := campaign.AppendRow([]byte("\ufeff"), separator, p.T("audit.when"), p.T("audit.who"), p.T("audit.what"), p.T("audit.subject"))
	for _, e := range entries {
		file = campaign.AppendRow(file, separator, p.When(e.At), e.Who, p.T("audit."+e.Action), on(p, e))
	}
	p.W.Header().Set("Content-Type", "text/csv; charset=utf-8")
	p.W.Header().Set("Content-Disposition", `attachment; filename="`+p.T("audit.file_name")+`"`)
	if _, err := p.W.Write(file); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}
