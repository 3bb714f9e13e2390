package campaignupload

import (
	"bytes"
	"encoding/json"
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/random"
	"campaign-dispatch/internal/recipients"
)

// upload is a campaign that waits for confirmation, with its file. The campaign ID is
// fixed, so that a repeated confirmation sends it once.
type upload struct {
	CampaignID string `json:"campaignId"`
	Name       string `json:"name"`
	TemplateID string `json:"templateId"`
	Schedule   string `json:"schedule,omitempty"`
	NotAfter   string `json:"notAfter,omitempty"`
	FileName   string `json:"fileName"`
	// Draft is the draft that becomes the campaign, and DraftVersion its version when the form
	// was opened.
	Draft        string `json:"draft,omitempty"`
	DraftVersion int    `json:"draftVersion,omitempty"`
	// Object is the key of the file on S3 if it is too large for the form, "" otherwise.
	Object string `json:"object,omitempty"`

	askedBy string // email address of who asked for its approval, "" without one
	file    []byte
}

// encode encodes the upload: a line of JSON, then the file.
func (u upload) encode() ([]byte, error) {
	head, err := json.Marshal(u)
	if err != nil {
		return nil, fmt.Errorf("encode an upload: %w", err)
	}
	return append(append(head, '\n'), u.file...), nil
}

func decodeUpload(raw []byte) (upload, error) {
	head, file, _ := bytes.Cut(raw, []byte("\n"))
	u := upload{file: file}
	if err := json.Unmarshal(head, &u); err != nil {
		return u, fmt.Errorf("decode an upload: %w", err)
	}
	return u, nil
}

// uploadID matches the random ID of an upload.
var uploadID = pattern.AtFirstUse(`^[A-Za-z0-9_-]{22}$`)

func uploadKey(tenant, id string) string { return "uploads/" + tenant + "/" + id }

// keep stores the upload for a day and returns its ID.
func (s *Pages) keep(p *web.Page, u upload) (string, error) {
	body, err := u.encode()
	if err != nil {
		return "", err
	}
	id := random.Token(16)
	return id, s.Blobs.Put(p.R.Context(), uploadKey(p.Session.Tenant, id), body, "application/octet-stream")
}

// kept returns an upload of the tenant. The error wraps campaign.ErrNotFound if it does
// not exist or has expired.
func (s *Pages) kept(p *web.Page, id string) (upload, error) {
	if !uploadID().MatchString(id) {
		return upload{}, campaign.ErrNotFound
	}
	raw, err := s.Blobs.Get(p.R.Context(), uploadKey(p.Session.Tenant, id))
	if err != nil {
		return upload{}, err
	}
	return decodeUpload(raw)
}

// repeated is a line whose number an earlier line has.
type repeated struct {
	Line, First int
	Phone       string
}

// unique returns the rows without repeated numbers, so that nobody receives a campaign
// twice. Invalid numbers remain, to be reported.
func unique(t table) (rows []recipients.Row, dropped []repeated) {
	first := map[uint64]int{}
	for _, r := range t.rows {
		number, rejection := phone.Parse([]byte(r.Cell(t.Phone)))
		if rejection == nil {
			if line, seen := first[uint64(number)]; seen {
				dropped = append(dropped, repeated{r.Line, line, web.Short(r.Cell(t.Phone), whatWeight)})
				continue
			}
			first[uint64(number)] = r.Line
		}
		rows = append(rows, r)
	}
	return rows, dropped
}
