package templates

import (
	"net/http"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi/jsonbody"
)

const maxBody = 256 << 10

// input is a template as a client sends it. It takes the JSON of an answer as well: the
// fields that only the service sets are ignored.
type input struct {
	Name    string           `json:"name"`
	Traffic campaign.Traffic `json:"traffic"`
	content.Content

	// Version is the version that a change is based on.
	Version   *int `json:"version"`
	ID        any  `json:"id"`
	Variables any  `json:"variables"`
	CreatedAt any  `json:"createdAt"`
}

func (in input) template(tenant string) campaign.Template {
	return campaign.Template{Tenant: tenant, Name: in.Name, Traffic: in.Traffic, Content: in.Content}
}

func readBody(r *http.Request, value any) error { return jsonbody.Read(r, maxBody, value) }
