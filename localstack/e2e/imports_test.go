package e2e_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// importer is an author in a browser who sends a campaign from a large file.
type importer struct {
	*visitor
	c    *client
	csrf string
}

func newImporter(t *testing.T) *importer {
	t.Helper()
	v := newVisitor(t)
	author := v.person("author")
	form := v.signIn("/dashboard/campaigns/new", author.Email, v.env["DASHBOARD_PASSWORD"])
	csrf := csrfField.FindStringSubmatch(form.body)
	if csrf == nil {
		t.Fatalf("the form answers %d without a token", form.status)
	}
	return &importer{v, newClient(t), csrf[1]}
}

func (i *importer) send(path string, form url.Values) page {
	i.t.Helper()
	form.Set("csrf", i.csrf)
	return i.post(i.env["BASE_URL"]+"/dashboard/imports"+path, form)
}

// upload uploads a file as the script of the form does, and returns the path of its page.
func (i *importer) upload(name, schedule, file string) string {
	i.t.Helper()
	answer := i.send("", url.Values{
		"name": {name}, "template": {i.env["TEMPLATE_ID"]}, "schedule": {schedule}, "fileName": {"lista.csv"}, "size": {strconv.Itoa(len(file))}, "modified": {"1"},
	})
	var started struct{ ID string }
	i.decode(answer, &started)
	var part struct{ URL string }
	i.decode(i.send("/part", url.Values{"id": {started.ID}, "part": {"1"}}), &part)
	put, err := http.NewRequestWithContext(i.t.Context(), http.MethodPut, part.URL, bytes.NewReader([]byte(file)))
	must(i.t, err)
	if sent := i.do(put); sent.status != http.StatusOK {
		i.t.Fatalf("the bucket answers %d: %s", sent.status, sent.body)
	}
	var finished struct{ Path string }
	i.decode(i.send("/finish", url.Values{"id": {started.ID}}), &finished)
	return strings.TrimPrefix(finished.Path, "/dashboard/imports")
}

func (i *importer) decode(p page, value any) {
	i.t.Helper()
	if p.status != http.StatusOK {
		i.t.Fatalf("%s answers %d: %s", p.url, p.status, p.body)
	}
	must(i.t, json.Unmarshal([]byte(p.body), value))
}

// shows waits until the page has a text.
func (i *importer) shows(path, text string) page {
	i.t.Helper()
	var p page
	i.c.eventually(3*time.Minute, text, func() bool {
		p = i.open(i.env["BASE_URL"] + "/dashboard/imports" + path)
		return strings.Contains(p.body, text)
	})
	return p
}

var hashField = regexp.MustCompile(`name="hash" value="([0-9a-f]{64})"`)

// checked waits for the review and returns the form of the confirmation.
func (i *importer) checked(path string) url.Values {
	i.t.Helper()
	hash := hashField.FindStringSubmatch(i.shows(path, "What will be sent").body)
	if hash == nil {
		i.t.Fatal("the campaign cannot be confirmed")
	}
	return url.Values{"hash": {hash[1]}}
}

func TestImport_LargeFile(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	all := messages(2003) // two parts
	var file strings.Builder
	file.WriteString("Celular;Código;Nome;Pedido\r\n")
	for n, m := range all {
		fmt.Fprintf(&file, "%s;c-%d;José;%d\r\n", m["phone"], n, n)
	}
	fmt.Fprintf(&file, "%s;again;José;1\r\n", all[0]["phone"])    // repeated, in the second part
	fmt.Fprintf(&file, "%s;;José;1\r\n", messages(1)[0]["phone"]) // without a uid
	file.WriteString("123;bad;José;1\r\n")
	path := i.upload("import "+rand.Text(), "", file.String())
	form := i.checked(path)
	review := i.shows(path, "What will be sent").body
	for _, want := range []string{"Send to 2,003 people, 3 lines are left out", "1 line with a problem is left out", "1 invalid number was left out", "1 repeated number"} {
		if !strings.Contains(review, want) {
			t.Errorf("the review lacks %q", want)
		}
	}
	i.send(path+"/confirm", form)
	i.send(path+"/confirm", form) // a double click
	i.c.eventually(4*time.Minute, "sent", func() bool { return i.c.sentOnce(all) })
	opened := i.open(i.env["BASE_URL"] + "/dashboard/campaigns" + path)
	if !strings.Contains(opened.body, "2,003") {
		t.Errorf("the campaign answers %d without its number of messages", opened.status)
	}
	i.c.eventually(time.Minute, "the import ends at its campaign", func() bool {
		return i.open(i.env["BASE_URL"]+"/dashboard/imports"+path).url.Path == "/dashboard/campaigns"+path
	})
}

func TestImport_Scheduled(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	m := messages(1)[0]
	due := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	path := i.upload("import "+rand.Text(), due, fmt.Sprintf("phone,uid,nome,pedido\n%s,1,Ana,7\n", m["phone"]))
	i.send(path+"/confirm", i.checked(path))
	i.c.eventually(2*time.Minute, "scheduled", func() bool {
		return strings.Contains(i.open(i.env["BASE_URL"]+"/dashboard/campaigns"+path).body, "Scheduled")
	})
}

// A list that is discarded leaves no file.
func TestImport_Discarded(t *testing.T) {
	t.Parallel()
	i := newImporter(t)
	path := i.upload("import "+rand.Text(), "", fmt.Sprintf("phone,uid,nome,pedido\n%s,1,Ana,7\n", messages(1)[0]["phone"]))
	i.checked(path)
	if n := i.files(path); n < 2 {
		t.Fatalf("%d files before, want the list and its part", n)
	}
	if got := i.send(path+"/cancel", url.Values{}); got.status != http.StatusOK {
		t.Fatalf("cancel: status %d at %s", got.status, got.url)
	}
	if n := i.files(path); n > 0 {
		t.Errorf("%d files are left", n)
	}
}

// files returns the number of files of a list.
func (i *importer) files(path string) (n int) {
	i.t.Helper()
	list := submission.Submission{ID: campaign.ID{Tenant: i.env["TENANT"], CampaignID: path[1:]}}
	for _, folder := range list.Folders() {
		for _, err := range i.c.blobs().List(i.t.Context(), folder) {
			must(i.t, err)
			n++
		}
	}
	return n
}
