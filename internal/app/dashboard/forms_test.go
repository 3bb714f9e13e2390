package dashboard_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/dashboard"
	"campaign-dispatch/internal/dashboard/web"
)

const base = "https://rcs.example.com"

// sendForm sends a form's or a page's request without a session.
func sendForm(t *testing.T, site http.Handler, method, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader("name=Natal&csrf=old"))
	header = header.Clone()
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	header.Set("Origin", base)
	r.Header = header
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	return w
}

// Every form that is sent after the end of the session says so, keeps what was entered, and
// leads back to its page after the sign-in.
func TestForms_SessionOver(t *testing.T) {
	t.Parallel()
	ui, site := dashboard.Site(app.Config{AWS: aws.Config{Region: "sa-east-1"}, BaseURL: base})
	const page, back = "/dashboard/campaigns/new?template=1", `href="/dashboard/sign-in?to=%2Fdashboard%2Fcampaigns%2Fnew%3Ftemplate%3D1"`
	parameter := regexp.MustCompile(`{[^}]*}`)
	const least = 40 // of forms, so that a lost registration is noticed
	sent := ui.Forms()
	if len(sent) < least {
		t.Errorf("%d forms, want at least %d", len(sent), least)
	}
	for _, form := range sent {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			path := parameter.ReplaceAllString(form, "0198d3a0-0000-4000-8000-000000000000")
			// data-refused makes app.js put back what was entered.
			whole := sendForm(t, site, http.MethodPost, path, http.Header{"Referer": {base + page}})
			if body := whole.Body.String(); whole.Code != http.StatusUnauthorized || !strings.Contains(body, "data-refused") || !strings.Contains(body, back) {
				t.Errorf("it answers %d: %s", whole.Code, body)
			}
			part := sendForm(t, site, http.MethodPost, path, http.Header{"Hx-Request": {"true"}, "Referer": {base + page}})
			if part.Code != http.StatusOK || part.Header().Get("HX-Retarget") != "#over" || !strings.Contains(part.Body.String(), `target="_blank"`) {
				t.Errorf("within a page it answers %d: %s", part.Code, part.Body)
			}
		})
	}
}

// docs/dashboard.md lists all routes with their roles.
func TestRoutes_InPage(t *testing.T) {
	t.Parallel()
	ui, _ := dashboard.Site(app.Config{AWS: aws.Config{Region: "sa-east-1"}})
	const heading = "| Route | Role |\n|---|---|\n"
	page, err := os.ReadFile("../../../docs/dashboard.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), heading)
	listed, _, _ := strings.Cut(after, "\n\n")
	if want := strings.Join(routeRows(ui), "\n"); strings.TrimSpace(listed) != want {
		t.Errorf("the table of docs/dashboard.md lists other routes. Replace it by:\n%s%s", heading, want)
	}
}

// routeRows returns the rows of the table, by path and then by method.
func routeRows(ui *web.UI) (rows []string) {
	routes := ui.Routes()
	slices.SortFunc(routes, func(a, b web.Route) int {
		return cmp.Or(strings.Compare(pathOf(a), pathOf(b)), strings.Compare(a.Pattern, b.Pattern))
	})
	for _, r := range routes {
		role := "no sign-in"
		if r.Role != "" {
			role = "`" + string(r.Role) + "`"
		}
		rows = append(rows, "| `"+r.Pattern+"` | "+role+" |")
	}
	return rows
}

func pathOf(r web.Route) string {
	_, path, _ := strings.Cut(r.Pattern, "/")
	return path
}
