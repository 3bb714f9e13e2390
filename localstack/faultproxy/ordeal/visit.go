package ordeal

import (
	"bytes"
	"context"
	"errors"
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
	errNotIn   = errors.New("the sign-in did not lead to the page")
)

// visit lets somebody sign in to the dashboard and look at its pages, who tries
// again where a page failed.
func (s *stack) visit(ctx context.Context) error {
	var err error
	for range tries {
		if err = s.lookAround(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	return fmt.Errorf("look at the dashboard: %w", err)
}

func (s *stack) lookAround(ctx context.Context) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	asked, text, err := open(ctx, browser, http.MethodGet, s.env["BASE_URL"]+"/dashboard/campaigns", nil)
	if err != nil {
		return err
	}
	action := formAction.FindStringSubmatch(text)
	if action == nil {
		return errNotIn
	}
	form := url.Values{"username": {s.env["DASHBOARD_EMAIL"]}, "password": {s.env["DASHBOARD_PASSWORD"]}}
	for _, field := range formField.FindAllStringSubmatch(text, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	to, err := asked.Parse(html.UnescapeString(action[1]))
	if err != nil {
		return err
	}
	at, _, err := open(ctx, browser, http.MethodPost, to.String(), form)
	if err == nil && at.Path != "/dashboard/campaigns" {
		err = errNotIn
	}
	for _, page := range []string{"templates", "settings/credentials", "settings/webhooks", "settings/audit"} {
		if err == nil {
			_, _, err = open(ctx, browser, http.MethodGet, s.env["BASE_URL"]+"/dashboard/"+page, nil)
		}
	}
	return err
}

// open returns where a page led to and what it shows.
func open(ctx context.Context, browser *http.Client, method, address string, form url.Values) (*url.URL, string, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader([]byte(form.Encode())))
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
		err = fmt.Errorf("%s answered %d: %w", strings.TrimPrefix(got.Request.URL.Path, "/"), got.StatusCode, errNotIn)
	}
	return got.Request.URL, string(text), err
}
