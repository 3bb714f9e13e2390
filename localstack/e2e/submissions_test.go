package e2e_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// submitter is an author in a browser who sends a campaign from a large file.
type submitter struct {
	*visitor
	c    *client
	csrf string
}

func newSubmitter(t *testing.T) *submitter {
	t.Helper()
	return submitterOf(newClient(t))
}

// submitterOf returns an author of a client's tenant.
func submitterOf(c *client) *submitter {
	t := c.t
	t.Helper()
	v := newVisitor(t)
	v.env = c.env
	author := v.person("author")
	form := v.signIn("/dashboard/campaigns/new", author.Email, v.env["DASHBOARD_PASSWORD"])
	csrf := csrfField.FindStringSubmatch(form.body)
	if csrf == nil {
		t.Fatalf("the form answers %d without a token", form.status)
	}
	return &submitter{v, c, csrf[1]}
}

func (i *submitter) send(path string, form url.Values) page {
	i.t.Helper()
	form.Set("csrf", i.csrf)
	return i.post(i.env["BASE_URL"]+"/dashboard/submissions"+path, form)
}

// upload uploads a CSV file and returns the path of its page.
func (i *submitter) upload(name, schedule, file string) string {
	i.t.Helper()
	return i.uploadFile(name, schedule, "lista.csv", []byte(file))
}

// uploadFile uploads a file in chunks, as the script of the form does, and returns the path of its page.
func (i *submitter) uploadFile(name, schedule, fileName string, file []byte) string {
	i.t.Helper()
	var started struct{ ID string }
	i.decode(i.send("", url.Values{
		"name": {name}, "template": {i.env["TEMPLATE_ID"]}, "schedule": {schedule},
		"fileName": {fileName}, "size": {strconv.Itoa(len(file))}, "modified": {"1"},
	}), &started)
	for from, number := 0, 1; from < len(file); from, number = from+port.ChunkSize, number+1 {
		var chunk struct{ URL string }
		i.decode(i.send("/chunk", url.Values{"id": {started.ID}, "chunk": {strconv.Itoa(number)}}), &chunk)
		part := bytes.NewReader(file[from:min(from+port.ChunkSize, len(file))])
		put, err := http.NewRequestWithContext(i.t.Context(), http.MethodPut, chunk.URL, part)
		must(i.t, err)
		if sent := i.do(put); sent.status != http.StatusOK {
			i.t.Fatalf("the bucket answers %d: %s", sent.status, sent.body)
		}
	}
	var finished struct{ Path string }
	i.decode(i.send("/finish", url.Values{"id": {started.ID}}), &finished)
	return strings.TrimPrefix(finished.Path, "/dashboard/submissions")
}

func (i *submitter) decode(p page, value any) {
	i.t.Helper()
	if p.status != http.StatusOK {
		i.t.Fatalf("%s answers %d: %s", p.url, p.status, p.body)
	}
	must(i.t, json.Unmarshal([]byte(p.body), value))
}

// shows waits until the page has a text.
func (i *submitter) shows(path, text string) page {
	i.t.Helper()
	var p page
	i.c.eventually(3*time.Minute, text, func() bool {
		p = i.open(i.env["BASE_URL"] + "/dashboard/submissions" + path)
		return strings.Contains(p.body, text)
	})
	return p
}

var hashField = regexp.MustCompile(`name="hash" value="([\w-]{43})"`)

// checked waits for the review and returns the form of the confirmation.
func (i *submitter) checked(path string) url.Values {
	i.t.Helper()
	hash := hashField.FindStringSubmatch(i.shows(path, "What will be sent").body)
	if hash == nil {
		i.t.Fatal("the campaign cannot be confirmed")
	}
	return url.Values{"hash": {hash[1]}}
}

func TestSubmission_LargeFile(t *testing.T) {
	t.Parallel()
	i := submitterOf(newClient(t).ownTenant()) // without a webhook for events
	all := messages(2003)                      // two parts
	var file strings.Builder
	file.WriteString("Celular;Código;Nome;Pedido;Obs\r\n")
	remark := strings.Repeat("x", 2200) // a file of more than 4 MB is not read while its page is loaded
	for n, m := range all {
		fmt.Fprintf(&file, "%s;c-%d;José;%d;%s\r\n", m["phone"], n, n, remark)
	}
	fmt.Fprintf(&file, "%s;again;José;1\r\n", all[0]["phone"])    // repeated, in the second part
	fmt.Fprintf(&file, "%s;;José;1\r\n", messages(1)[0]["phone"]) // without a uid
	file.WriteString("123;bad;José;1\r\n")
	path := i.upload("submission "+rand.Text(), "", file.String())
	form := i.checked(path)
	review := i.shows(path, "What will be sent").body
	for _, want := range []string{"Send to 2,003 people, 3 lines are left out", "The customer&#39;s code (uid) is missing", "The area code", "Repeated number: an earlier line has it"} {
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
	i.c.eventually(time.Minute, "the submission ends at its campaign", func() bool {
		return i.open(i.env["BASE_URL"]+"/dashboard/submissions"+path).url.Path == "/dashboard/campaigns"+path
	})
}

func TestSubmission_Scheduled(t *testing.T) {
	t.Parallel()
	i := newSubmitter(t)
	m := messages(1)[0]
	due := time.Now().Add(48 * time.Hour).UTC().Format(time.RFC3339)
	path := i.upload("submission "+rand.Text(), due, fmt.Sprintf("phone,uid,nome,pedido\n%s,1,Ana,7\n", m["phone"]))
	i.send(path+"/confirm", i.checked(path))
	i.c.eventually(2*time.Minute, "scheduled", func() bool {
		return strings.Contains(i.open(i.env["BASE_URL"]+"/dashboard/campaigns"+path).body, "Scheduled")
	})
}

// A person of a file who is on a suppression list gets nothing: the review counts her before, the campaign after.
func TestSubmission_OnList(t *testing.T) {
	t.Parallel()
	i := submitterOf(newClient(t).ownTenant().ownCredential(account.Scopes...))
	all := messages(2)
	i.c.list(http.MethodPut, "/nao-me-ligue", fields{"reason": "r", "numbers": []any{all[0]["phone"]}}, http.StatusOK)
	file := fmt.Sprintf("phone,uid,nome,pedido\n%s,1,Ana,7\n%s,2,Bia,8\n", all[0]["phone"], all[1]["phone"])
	path := i.upload("submission "+rand.Text(), "", file+strings.Repeat(strings.Repeat(" ", 1000)+"\n", 5000)) // not read while its page is loaded
	form := i.checked(path)
	review := strings.Join(strings.Fields(i.shows(path, "What will be sent").body), " ")
	if !strings.Contains(review, "On suppression lists (nothing is sent)") || !strings.Contains(review, "nao-me-ligue") {
		t.Error("the review does not say who is on a list")
	}
	i.send(path+"/confirm", form)
	i.c.eventually(3*time.Minute, "sent", func() bool { return i.c.sentOnce(all[1:]) })
	var page struct {
		Messages []struct{ Phone, Code, List string }
	}
	i.c.eventually(3*time.Minute, "failed", func() bool {
		i.c.fetch(campaignsPath+path[1:]+"/messages?status=failed", &page)
		return len(page.Messages) > 0
	})
	if got := page.Messages[0]; got.Phone != all[0]["phone"] || got.Code != "suppressed" || got.List != "nao-me-ligue" {
		t.Errorf("the read-back says %+v", got)
	}
	if got := i.c.atProvider(all)[all[0]["phone"].(string)]; len(got) > 0 {
		t.Error("a message to a person on a list was sent")
	}
}

// A list that is discarded leaves no file.
func TestSubmission_Discarded(t *testing.T) {
	t.Parallel()
	i := newSubmitter(t)
	path := i.upload("submission "+rand.Text(), "", fmt.Sprintf("phone,uid,nome,pedido\n%s,1,Ana,7\n", messages(1)[0]["phone"]))
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

// A batch of the API has the name of the second part of a file, and the rest is discarded. Its people stand
// on the campaign's page, in its export and in the follow-up.
func TestSubmission_RestDiscarded(t *testing.T) {
	t.Parallel()
	i := submitterOf(newClient(t).ownTenant())
	all := messages(2003) // two parts
	var file strings.Builder
	file.WriteString("Celular;Código;Nome;Pedido\r\n")
	for n, m := range all {
		fmt.Fprintf(&file, "%s;c-%d;José;%d\r\n", m["phone"], n, n)
	}
	call := i.c.call(messages(1))
	call["batch"], call["schedule"] = "2", time.Now().Add(48*time.Hour).UTC().Format(time.RFC3339)
	path := i.upload(call["name"].(string), call["schedule"].(string), file.String())
	form := i.checked(path)
	call["campaignId"] = path[1:]
	if got := i.c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("the batch of the API: %d %s", got.status, got.body)
	}
	i.send(path+"/confirm", form)
	i.shows(path, "Do not send the rest")
	if got := i.send(path+"/cancel", url.Values{}); got.status != http.StatusOK {
		t.Fatalf("discard the rest: status %d at %s", got.status, got.url)
	}
	totals := i.totals(path)
	if n, want := i.files(path), len(totals.PartsNotAccepted()); n != want || want == 0 {
		t.Errorf("%d files are left, want %d parts", n, want)
	}
	left := all[totals.Accepted:]
	address := i.env["BASE_URL"] + "/dashboard/campaigns" + path
	if opened := i.open(address); !strings.Contains(opened.body, fmt.Sprintf(`<span class="many">%s</span> <span>Not accepted any more.</span>`, thousands(len(left)))) {
		t.Errorf("the campaign answers %d without its %d people who are left:\n%s", opened.status, len(left), opened.body)
	}
	i.exportsLeft(path[1:], left, totals.Accepted)
	i.followsLeft(address, thousands(len(left)))
}

// totals returns the totals of a campaign's file, which are zero before its first part.
func (i *submitter) totals(path string) campaign.SubmissionTotals {
	i.t.Helper()
	c, err := i.c.store().Dispatched(i.t.Context(), campaign.ID{Tenant: i.env["TENANT"], CampaignID: path[1:]})
	if !errors.Is(err, campaign.ErrNotFound) {
		must(i.t, err)
	}
	return c.Submission
}

// thousands returns a number of at least a thousand as pages show it.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// exportsLeft checks that an export names the people who are left.
func (i *submitter) exportsLeft(id string, left []fields, accepted int) {
	i.t.Helper()
	e := i.c.exported(id, `{"statuses": ["not_accepted"]}`)
	res := i.c.follow(e)
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(res.Body)
	must(i.t, err)
	if e.Lines != len(left) {
		i.t.Errorf("%d lines, want %d", e.Lines, len(left))
	}
	for n, m := range left {
		if want := fmt.Sprintf(`%q,"c-%d","not_accepted"`, m["phone"], accepted+n); !strings.Contains(string(content), want) {
			i.t.Fatalf("the export lacks %s", want)
		}
	}
	if e := i.c.exported(id, `{}`); e.Lines != accepted+len(left)+1 {
		i.t.Errorf("the export has %d of %d people", e.Lines, accepted+len(left)+1)
	}
}

// followsLeft checks that the list of those who did not get the message has the people who are left.
func (i *submitter) followsLeft(address, left string) {
	i.t.Helper()
	form := url.Values{"audience": {"missed"}}
	for _, field := range formField.FindAllStringSubmatch(i.open(address+"/follow-up").body, -1) {
		if field[1] != "audience" {
			form.Set(field[1], field[2])
		}
	}
	list := i.post(address+"/follow-up", form)
	i.c.eventually(3*time.Minute, "the list of those who are left", func() bool {
		if strings.Contains(list.body, "The list is ready: "+left+" people.") {
			return true
		}
		list = i.open(list.url.String())
		return false
	})
}

// files returns the number of files of a list.
func (i *submitter) files(path string) (n int) {
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
