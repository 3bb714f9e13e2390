package exports

import (
	"fmt"
	"net/http"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonbody"
	"campaign-dispatch/internal/oauth/accesstoken"
)

const maxBody = 4 << 10

// Register adds the service's routes to the mux.
func (s *Service) Register(mux *http.ServeMux) {
	const path = "/api/v1/external/campaigns/{campaignId}/exports"
	mux.Handle("POST "+path, httpapi.HandlerFunc(s.ServeCreate))
	mux.Handle("GET "+path+"/{exportId}", httpapi.HandlerFunc(s.ServeStatus))
	mux.Handle("GET "+export.Path+"{file}", httpapi.HandlerFunc(s.ServeFile))
}

type answer struct {
	ExportID   string        `json:"exportId"`
	CampaignID string        `json:"campaignId"`
	Kind       export.Kind   `json:"kind"`
	Statuses   []string      `json:"statuses,omitempty"`
	Format     export.Format `json:"format"`
	Language   string        `json:"language"`
	Status     export.State  `json:"status"`
	CreatedAt  time.Time     `json:"createdAt"`
	Progress   progress      `json:"progress"`
	Lines      *int          `json:"lines,omitempty"`
	URL        string        `json:"url,omitempty"`
	ExpiresAt  *time.Time    `json:"expiresAt,omitempty"`
}

// progress counts the messages or rejected numbers of the snapshot.
type progress struct {
	Checked int `json:"checked"`
	Total   int `json:"total"`
}

func (s *Service) newAnswer(r *http.Request, e export.Export) answer {
	a := answer{
		ExportID: e.ExportID, CampaignID: r.PathValue("campaignId"), Kind: e.Kind, Statuses: e.Statuses, Format: e.Format,
		Language: e.Language, Status: e.State, CreatedAt: e.CreatedAt, Progress: progress{e.Progress(), e.Total},
	}
	if e.State == export.Completed {
		a.Lines, a.URL, a.ExpiresAt = &e.Lines, httpapi.BaseURL(r, s.BaseURL)+e.Link(), &e.ExpiresAt
	}
	return a
}

func (s *Service) open(r *http.Request, known httpapi.Parameters) (accesstoken.Claims, campaign.ID, error) {
	door := accesstoken.Door{Tokens: s.Tokens, BaseURL: s.BaseURL, Scope: account.ScopeDispatch}
	claims, _, err := door.Open(r, known, httpapi.NoDryRun)
	id, ok := campaign.ParseUUID(r.PathValue("campaignId"))
	if err == nil && !ok {
		err = httpapi.NoCampaign()
	}
	return claims, campaign.ID{Tenant: claims.Tenant, CampaignID: id}, err
}

// ServeCreate starts an export of a campaign.
func (s *Service) ServeCreate(w http.ResponseWriter, r *http.Request) error {
	claims, id, err := s.open(r, httpapi.DryRun)
	if err != nil {
		return err
	}
	exportID, fault := httpapi.NewID(r.Header, "export", claims.Tenant, claims.ClientID)
	if fault != nil {
		return httpapi.BadRequest(fault.Code, fault.Detail+".")
	}
	asked, err := readRequest(r)
	if err != nil {
		return err
	}
	e, err := s.Create(r.Context(), id, exportID, asked)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusAccepted, s.newAnswer(r, e))
	return nil
}

// readRequest reads the body of a request, which may be empty.
func readRequest(r *http.Request) (q export.Request, err error) {
	body, err := httpapi.JSONBody(r, maxBody)
	if err != nil || len(body) == 0 {
		return q, err
	}
	err = jsonbody.Decode(r.Header, body, &q)
	return q, err
}

// ServeStatus returns the progress of an export.
func (s *Service) ServeStatus(w http.ResponseWriter, r *http.Request) error {
	_, id, err := s.open(r, nil)
	if err != nil {
		return err
	}
	e, err := s.find(r.Context(), id, r.PathValue("exportId"))
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, s.newAnswer(r, e))
	return nil
}

// ServeFile redirects a link to its file. It ignores the Authorization header, which some
// clients send to every URL.
func (s *Service) ServeFile(w http.ResponseWriter, r *http.Request) error {
	url, err := s.Open(r.Context(), r.PathValue("file"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Location", url)
	w.WriteHeader(http.StatusFound)
	return nil
}

func noExport() *httpapi.Problem {
	return httpapi.NotFound("export_not_found", "There is no such export. Exports are kept for 24 hours.")
}

func noFile() *httpapi.Problem {
	return httpapi.NotFound("not_found", "There is no such file. Files of exports are kept for 24 hours.")
}

func tooMany() *httpapi.Problem {
	return &httpapi.Problem{
		Status: http.StatusTooManyRequests, Code: "too_many_exports",
		Detail: fmt.Sprintf("%d exports of the tenant are in progress. Wait until one of them has ended, then repeat the call.", export.MaxOpen),
		Header: http.Header{"Retry-After": {"30"}},
	}
}

func tooLarge() *httpapi.Problem {
	detail := fmt.Sprintf("The campaign has more than %d batches. Read its messages back in pages instead.", export.MaxBatches)
	return httpapi.Conflict("too_many_batches", detail)
}

func invalid(pointer, detail string) *httpapi.Problem {
	return httpapi.Refuse(http.StatusBadRequest, pointer, unknownValue, detail)
}
