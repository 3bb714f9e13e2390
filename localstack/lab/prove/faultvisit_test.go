package prove

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"
)

var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	formField  = regexp.MustCompile(`<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"`)
)

// visit signs in to the dashboard and opens its pages, again where a page fails.
func (s *faultStack) visit(ctx context.Context) error {
	return eventually(ctx, scenarioTimeout, func() (bool, error) {
		err := s.openPages(ctx)
		return err == nil, err
	})
}

func (s *faultStack) openPages(ctx context.Context) error {
	const list = "/dashboard/campaigns"
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	asked, text, err := openPage(ctx, browser, http.MethodGet, s.env["BASE_URL"]+list, nil)
	action := formAction.FindStringSubmatch(text)
	if err != nil || action == nil {
		return fmt.Errorf("open the sign-in: %w", err)
	}
	form := url.Values{"username": {s.env["DASHBOARD_EMAIL"]}, "password": {s.env["DASHBOARD_PASSWORD"]}}
	for _, field := range formField.FindAllStringSubmatch(text, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	to, err := asked.Parse(html.UnescapeString(action[1]))
	if err != nil {
		return err
	}
	at, _, err := openPage(ctx, browser, http.MethodPost, to.String(), form)
	if err != nil || at.Path != list {
		return fmt.Errorf("the sign-in did not lead to the page (%w)", err)
	}
	for _, page := range []string{"templates", "settings/credentials", "settings/webhooks", "settings/billing", "settings/audit"} {
		if _, _, err := openPage(ctx, browser, http.MethodGet, s.env["BASE_URL"]+"/dashboard/"+page, nil); err != nil {
			return err
		}
	}
	return nil
}

// openPage returns the address that a page led to, and its text.
func openPage(ctx context.Context, browser *http.Client, method, address string, form url.Values) (*url.URL, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	got, err := browser.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %d", got.Request.URL.Path, got.StatusCode)
	}
	return got.Request.URL, string(text), err
}
