package media_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	pages "campaign-dispatch/internal/dashboard/media"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/media/mediafile"
	"campaign-dispatch/localstack/stackenv"
)

var now = time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)

// office is a new tenant in the stack's table and bucket, with its users and the pages.
type office struct {
	*webtest.Dashboard
	tb            testing.TB
	store         *dynamotest.Store
	library       *media.Library
	tenant        string
	admin, viewer webtest.Person
}

func newOffice(tb testing.TB) office {
	tb.Helper()
	env, clock := stackenv.Load(tb), func() time.Time { return now }
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], MediaURL: env["MEDIA_URL"], Now: clock,
	})
	bucket := s3.New(env.AWS(), env["MEDIA_BUCKET"], true)
	library := &media.Library{
		Store: store, Bucket: bucket, Prober: media.NewProber(true), Now: clock,
	}
	ui := webtest.UI(tb, clock)
	ui.MediaURL = env["MEDIA_URL"]
	o := office{tb: tb, store: store, library: library, tenant: strings.ToLower(rand.Text())}
	o.Dashboard = webtest.Serve(tb, ui, pages.Area(), &pages.Pages{
		Store: store, Library: library, Origin: bucket.Origin, URL: env["MEDIA_URL"],
	})
	o.admin, o.viewer = o.SignIn(o.tenant, web.RoleAdmin), o.SignIn(o.tenant, web.RoleViewer)
	return o
}

// answer is an answer to the upload's script.
type answer struct {
	Status int
	ID     string `json:"id"`
	Sent   []int  `json:"sent"`
	URL    string `json:"url"`
	Path   string `json:"path"`
	Link   string `json:"link"`
	Small  string // link of the thumbnail
	Error  string `json:"error"`
}

func (o office) call(who webtest.Person, path string, form url.Values) (a answer) {
	o.tb.Helper()
	got := who.Post(pages.Path+"/uploads"+path, form)
	a.Status = got.Status
	if strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal([]byte(got.Body), &a); err != nil {
			o.tb.Fatal(err)
		}
	}
	return a
}

// start starts the upload of a file, as the script does.
func (o office) start(who webtest.Person, name string, size int) answer {
	o.tb.Helper()
	return o.call(who, "", url.Values{"fileName": {name}, "size": {strconv.Itoa(size)}})
}

// upload uploads a file as the script of the editor does, and returns the answer to its end.
func (o office) upload(who webtest.Person, name string, body []byte) answer {
	o.tb.Helper()
	started := o.start(who, name, len(body))
	if started.Status != http.StatusOK {
		return started
	}
	for at, chunk := 0, 1; at < len(body); at, chunk = at+port.ChunkSize, chunk+1 {
		o.put(who, started.ID, chunk, body[at:min(at+port.ChunkSize, len(body))])
	}
	ended := o.call(who, "/finish", url.Values{"id": {started.ID}, "fileName": {name}, "stays": {"1"}})
	if ended.Link != "" {
		ended.Small = o.thumbnail(ended.Link)
	}
	return ended
}

func (o office) put(who webtest.Person, id string, chunk int, body []byte) {
	o.tb.Helper()
	signed := o.call(who, "/chunk", url.Values{"id": {id}, "chunk": {strconv.Itoa(chunk)}})
	if status, _, _ := o.send(http.MethodPut, signed.URL, body); status != http.StatusOK {
		o.tb.Fatalf("chunk %d answers %d", chunk, status)
	}
}

// thumbnail returns the link of a file's thumbnail.
func (o office) thumbnail(link string) string {
	o.tb.Helper()
	f, err := o.store.Media(o.tb.Context(), o.tenant, o.hash(link))
	if err != nil {
		o.tb.Fatal(err)
	}
	return f.ThumbnailLink(o.UI.MediaURL)
}

// send sends a request without credentials, and returns the status, the body and its type.
func (o office) send(method, address string, body []byte) (status int, answer []byte, contentType string) {
	o.tb.Helper()
	r, err := http.NewRequestWithContext(o.tb.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		o.tb.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		o.tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if answer, err = io.ReadAll(response.Body); err != nil {
		o.tb.Fatal(err)
	}
	return response.StatusCode, answer, response.Header.Get("Content-Type")
}

// get returns what a link answers.
func (o office) get(link string) (status int, body []byte, contentType string) {
	o.tb.Helper()
	return o.send(http.MethodGet, link, nil)
}

// picture returns a PNG that no other test has.
func picture(tb testing.TB, width, height int) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, drawn(width, height)); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func drawn(width, height int) image.Image {
	m := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White, color.Black, color.Transparent})
	copy(m.Pix, random.Bytes(32))
	for i := range m.Pix {
		m.Pix[i] %= 3
	}
	return m
}

// show saves a template whose card shows a URL.
func (o office) show(link string) (campaign.Template, error) {
	return o.store.PutTemplate(o.tb.Context(), campaign.Template{
		ID: random.UUID(), Tenant: o.tenant, Name: "Oferta", Content: content.Content{Card: &content.Card{Media: &content.Media{URL: link}}},
	})
}

// hash returns the hash in the link of an uploaded file.
func (o office) hash(link string) string {
	hash, _ := mediafile.Uploaded(o.UI.MediaURL, link)
	return hash
}

func TestUpload_Image(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := picture(t, 1600, 800)
	got := o.upload(o.admin, "tênis.png", body)
	if got.Status != http.StatusOK {
		t.Fatalf("the upload answers %d %q", got.Status, got.Error)
	}
	if status, served, kind := o.get(got.Link); status != http.StatusOK || !bytes.Equal(served, body) || kind != "image/png" {
		t.Errorf("the link answers %d %s with %d bytes, want the image", status, kind, len(served))
	}
	_, small, kind := o.get(got.Small)
	if c, err := jpeg.DecodeConfig(bytes.NewReader(small)); err != nil || c.Width != 770 || c.Height != 385 || kind != "image/jpeg" || len(small) > 40<<10 {
		t.Errorf("the thumbnail is %s of %d × %d with %d bytes, %v", kind, c.Width, c.Height, len(small), err)
	}
	list := o.viewer.Get(pages.Path)
	for _, want := range []string{"tênis.png", "PNG image, 1,600 × 800", "4 May 2026, 12:00", got.Link} {
		if !strings.Contains(list.Text(), want) {
			t.Errorf("the list lacks %q: %s", want, list.Text())
		}
	}
	if strings.Contains(list.Body, "/delete") || strings.Contains(list.Body, "data-upload") {
		t.Error("a viewer is offered what is refused")
	}
	if diff := cmp.Diff([]string{"admin@example.com media.upload tênis.png"}, o.Audited()); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestUpload_TypeByContent(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var animation, photo bytes.Buffer
	if err := errors.Join(gif.Encode(&animation, drawn(20, 10), nil), jpeg.Encode(&photo, drawn(20, 10), nil)); err != nil {
		t.Fatal(err)
	}
	mp4 := append([]byte("\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isomiso2avc1mp41"), random.Bytes(64)...)
	for _, test := range []struct {
		name, file string
		body       []byte
		kind       string // "" is refused
	}{
		{"GIF", "a.bin", animation.Bytes(), "image/gif"},
		{"JPEG", "a.png", photo.Bytes(), "image/jpeg"},
		{"MP4", "a.mp4", mp4, "video/mp4"},
		{"PDF", "a.pdf", append([]byte("%PDF-1.7\n"), random.Bytes(64)...), "application/pdf"},
		{"HTML", "a.png", []byte("<!doctype html><script>alert(1)</script>"), ""},
		{"SVG", "a.png", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), ""},
		{"HEIC", "a.mp4", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"), ""},
		{"damaged PNG", "a.png", []byte("\x89PNG\r\n\x1a\n<script>"), ""},
		{"short file", "a.png", []byte("G"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := o.upload(o.admin, test.file, test.body)
			if test.kind == "" {
				if got.Status != http.StatusUnprocessableEntity || got.Error == "" || got.Link != "" {
					t.Errorf("it answers %d %q %q, want a refusal", got.Status, got.Error, got.Link)
				}
				return
			}
			if status, _, kind := o.get(got.Link); status != http.StatusOK || kind != test.kind {
				t.Errorf("the link answers %d %s %s, want %s", status, kind, got.Error, test.kind)
			}
		})
	}
}

// header returns the header with which the stack serves a link.
func header(t *testing.T, link string) http.Header {
	t.Helper()
	response, err := http.Get(link) //nolint:noctx // a link of the stack
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.Header
}

// A PDF can have scripts. Browsers save it, and show images.
func TestUpload_Attachment(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for file, test := range map[string]struct {
		body []byte
		want string
	}{
		"a.pdf": {append([]byte("%PDF-1.7\n"), random.Bytes(64)...), "attachment"},
		"a.png": {picture(t, 8, 8), ""},
	} {
		got := header(t, o.upload(o.admin, file, test.body).Link)
		if d := got.Get("Content-Disposition"); d != test.want {
			t.Errorf("%s has the Content-Disposition %q, want %q", file, d, test.want)
		}
	}
}

// CloudFront asks the bucket for a file once a day, so that a deleted one is soon gone.
func TestUpload_CacheControl(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	got := o.upload(o.admin, "a.png", picture(t, 8, 8))
	for _, link := range []string{got.Link, got.Small} {
		if c := header(t, link).Get("Cache-Control"); c != "public, max-age=31536000, s-maxage=86400, immutable" {
			t.Errorf("%s has the Cache-Control %q", link, c)
		}
	}
}

// A small file can claim an image that takes gigabytes when it is decoded.
func TestUpload_DecompressionBomb(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	bomb, err := os.ReadFile("../../media/testdata/20000x20000.png")
	if err != nil {
		t.Fatal(err)
	}
	if got := o.upload(o.admin, "a.png", bomb); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Error, "too many pixels") {
		t.Errorf("%d bytes of 400 million pixels answer %d %q", len(bomb), got.Status, got.Error)
	}
}

func TestUpload_Limits(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, form := range map[string]url.Values{
		"too large": {"fileName": {"a.mp4"}, "size": {strconv.Itoa(mediafile.MaxSize + 1)}},
		"empty":     {"fileName": {"a.mp4"}, "size": {"0"}},
		"no name":   {"fileName": {" "}, "size": {"1"}},
	} {
		if got := o.call(o.admin, "", form); got.Status != http.StatusUnprocessableEntity || got.Error == "" {
			t.Errorf("%s: %d %q", name, got.Status, got.Error)
		}
	}
	started := o.start(o.admin, "a.png", 10)
	for name, form := range map[string]url.Values{
		"a chunk after the last":      {"id": {started.ID}, "chunk": {"2"}},
		"no chunk":                    {"id": {started.ID}, "chunk": {"0"}},
		"an ID of a file of 200 MB":   {"id": {strings.Replace(started.ID, ".10.", ".209715200.", 1)}, "chunk": {"1"}},
		"an ID that is no ID":         {"id": {"../" + started.ID}, "chunk": {"1"}},
		"a chunk that is no number":   {"id": {started.ID}, "chunk": {"x"}},
		"the number of a large chunk": {"id": {started.ID}, "chunk": {"9223372036854775807"}},
	} {
		if got := o.call(o.admin, "/chunk", form); got.Status != http.StatusUnprocessableEntity || got.URL != "" || got.Error == "" {
			t.Errorf("%s: %d %q", name, got.Status, got.URL)
		}
	}
}

// A browser cannot send more than it announced.
func TestUpload_ChunkOfAnotherSize(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	started := o.start(o.admin, "a.png", 10)
	signed := o.call(o.admin, "/chunk", url.Values{"id": {started.ID}, "chunk": {"1"}})
	if status, _, _ := o.send(http.MethodPut, signed.URL, make([]byte, 11)); status != http.StatusForbidden {
		t.Errorf("11 bytes at a URL for 10 answer %d, want 403", status)
	}
}

// The chunks are checked when the upload ends: the size was only announced before.
func TestUpload_MissingChunk(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	started := o.start(o.admin, "a.png", 10)
	form := url.Values{"id": {started.ID}, "fileName": {"a.png"}}
	if got := o.call(o.admin, "/finish", form); got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Error, "missing") {
		t.Errorf("an upload without chunks answers %d %q", got.Status, got.Error)
	}
}

// After an interruption, the same file continues with the chunks that are missing.
func TestUpload_Continues(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := append([]byte("%PDF-1.7\n"), random.Bytes(port.ChunkSize+1000)...)
	started := o.start(o.admin, "a.pdf", len(body))
	o.put(o.admin, started.ID, 2, body[port.ChunkSize:])
	form := url.Values{"fileName": {"a.pdf"}, "size": {strconv.Itoa(len(body))}, "id": {started.ID}}
	again := o.call(o.admin, "", form)
	if again.ID != started.ID || !cmp.Equal(again.Sent, []int{2}) {
		t.Fatalf("the same file continues as %q with the chunks %v, want %q", again.ID, again.Sent, started.ID)
	}
	if got := o.call(o.SignIn("another", web.RoleAdmin), "", form); got.ID == started.ID || len(got.Sent) > 0 {
		t.Errorf("another tenant continues it: %q %v", got.ID, got.Sent)
	}
	o.put(o.admin, started.ID, 1, body[:port.ChunkSize])
	if got := o.call(o.admin, "/finish", form); got.Status != http.StatusOK || got.Path != pages.Path {
		t.Errorf("it ends with %d %q at %q", got.Status, got.Error, got.Path)
	}
	if list := o.admin.Get(pages.Path).Text(); !strings.Contains(list, "a.pdf") {
		t.Errorf("the list lacks the file: %s", list)
	}
	if got := o.call(o.admin, "", form); got.Status != http.StatusOK || got.ID == started.ID {
		t.Errorf("the same file after its end answers %d with the upload %q", got.Status, got.ID)
	}
}

func TestUpload_SeveralChunks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := append([]byte("%PDF-1.7\n"), random.Bytes(port.ChunkSize+1000)...)
	got := o.upload(o.admin, "a.pdf", body)
	if _, served, _ := o.get(got.Link); !bytes.Equal(served, body) {
		t.Errorf("the link serves %d bytes, want all %d (%d %s)", len(served), len(body), got.Status, got.Error)
	}
	again := o.upload(o.admin, "again.pdf", body)
	if again.Link != got.Link {
		t.Errorf("the same content has the links %s and %s", got.Link, again.Link)
	}
	if list := o.viewer.Get(pages.Path).Text(); strings.Count(list, got.Link) != 1 {
		t.Errorf("the list shows it more than once: %s", list)
	}
}

func TestUpload_Forbidden(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	started := o.start(o.admin, "a.png", 10)
	form := url.Values{"id": {started.ID}, "chunk": {"1"}, "fileName": {"a.png"}}
	other := o.SignIn("another", web.RoleAdmin)
	signed := o.call(other, "/chunk", form)
	if status, _, _ := o.send(http.MethodPut, signed.URL, make([]byte, 10)); status != http.StatusNotFound {
		t.Errorf("another tenant adds a chunk: %d, want 404", status)
	}
	if got := o.call(other, "/finish", form); got.Status != http.StatusUnprocessableEntity {
		t.Errorf("another tenant finishes the upload: %d", got.Status)
	}
	for _, path := range []string{"/uploads", "/uploads/chunk", "/uploads/finish", "/urls", "/" + strings.Repeat("a", 64) + "/delete"} {
		if a := o.viewer.Post(pages.Path+path, form); a.Status != http.StatusForbidden {
			t.Errorf("a viewer: POST %s answers %d, want 403", path, a.Status)
		}
	}
}

func TestPolicy_UploadOrigin(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	want := "connect-src 'self' " + stackenv.Load(t)["AWS_ENDPOINT_URL"] + ";" // where a browser sends the chunks
	if policy := o.admin.Get(pages.Path).Header.Get("Content-Security-Policy"); !strings.Contains(policy, want) {
		t.Errorf("the page that uploads has the policy %s, want %s", policy, want)
	}
	if policy := o.viewer.Get(pages.Path).Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self';") {
		t.Errorf("a page that does not upload has the policy %s", policy)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := picture(t, 40, 20)
	got := o.upload(o.admin, "a.png", body)
	path := pages.Path + "/" + o.hash(got.Link) + "/delete"
	other := o.SignIn("another", web.RoleAdmin)
	if a := other.Get(path); a.Status != http.StatusNotFound {
		t.Errorf("another tenant: %d, want 404", a.Status)
	}
	other.Post(path, nil)
	if status, _, _ := o.get(got.Link); status != http.StatusOK {
		t.Fatalf("another tenant deleted the file: %d", status)
	}
	for range 2 { // a form that is sent twice
		if a := o.admin.Post(path, nil); a.Location != pages.Path {
			t.Fatalf("deleting answers %d to %q", a.Status, a.Location)
		} else if list := o.admin.Follow(a).Text(); !strings.Contains(list, "File deleted.") {
			t.Errorf("the list does not say what was done: %s", list)
		}
	}
	for _, link := range []string{got.Link, got.Small} {
		if status, _, _ := o.get(link); status == http.StatusOK {
			t.Errorf("%s answers %d after the deletion", link, status)
		}
	}
	if _, err := o.show(got.Link); !errors.Is(err, campaign.ErrNoMedia) {
		t.Errorf("a template with the deleted file: %v", err)
	}
	again := o.upload(o.admin, "a.png", body)
	if status, _, _ := o.get(again.Link); status != http.StatusOK || again.Link == got.Link || o.hash(again.Link) != o.hash(got.Link) {
		t.Errorf("the same file again answers %d: %+v", status, again)
	}
	if _, err := o.show(got.Link); !errors.Is(err, campaign.ErrNoMedia) {
		t.Errorf("a template with the deleted link: %v", err)
	}
	if same := o.upload(o.admin, "b.png", body); same.Link != again.Link {
		t.Errorf("the same file twice: %+v", same)
	}
}

// slow is a bucket in which something happens after a file is published, or before the first object is deleted.
type slow struct {
	media.Bucket
	published, deleting func()
}

func (s *slow) Publish(ctx context.Context, from, to, contentType string) error {
	err := s.Bucket.Publish(ctx, from, to, contentType)
	if s.published != nil {
		s.published()
	}
	return err
}

func (s *slow) Delete(ctx context.Context, key string) error {
	if deleting := s.deleting; deleting != nil {
		s.deleting = nil
		deleting()
	}
	return s.Bucket.Delete(ctx, key)
}

// A file that is uploaded during the deletion of the same content has its row and its objects.
func TestDelete_DuringUpload(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := picture(t, 40, 20)
	first := o.upload(o.admin, "a.png", body)
	library := *o.library
	library.Bucket = &slow{Bucket: o.library.Bucket, published: func() { o.admin.Post(pages.Path+"/"+o.hash(first.Link)+"/delete", nil) }}
	started := o.start(o.admin, "b.png", len(body))
	o.put(o.admin, started.ID, 1, body)
	f, err := library.Check(t.Context(), o.tenant, "b.png", started.ID)
	if err == nil {
		f, err = library.Publish(t.Context(), started.ID, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.served(f.Link(o.UI.MediaURL))
}

// A slow deletion leaves what was uploaded after another deletion of the same content.
func TestDelete_Twice(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := picture(t, 40, 20)
	first := o.upload(o.admin, "a.png", body)
	f, err := o.store.Media(t.Context(), o.tenant, o.hash(first.Link))
	if err != nil {
		t.Fatal(err)
	}
	var again answer
	library := *o.library
	library.Bucket = &slow{Bucket: o.library.Bucket, deleting: func() {
		o.admin.Post(pages.Path+"/"+f.Hash+"/delete", nil)
		again = o.upload(o.admin, "b.png", body)
	}}
	if _, err := library.Delete(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	o.served(again.Link)
}

// served checks that a link and that of its thumbnail answer, and that a template can show it.
func (o office) served(link string) {
	o.tb.Helper()
	for _, each := range []string{link, o.thumbnail(link)} {
		if status, _, _ := o.get(each); status != http.StatusOK {
			o.tb.Errorf("%s answers %d", each, status)
		}
	}
	if _, err := o.show(link); err != nil {
		o.tb.Errorf("a template with the file: %v", err)
	}
}

func TestDelete_Shown(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, link := range map[string]func(answer) string{
		"file":      func(a answer) string { return a.Link },
		"thumbnail": func(a answer) string { return a.Small },
		// The template was saved before the domain of files changed.
		"former domain": func(a answer) string { return "https://former.example.com" + strings.TrimPrefix(a.Link, o.UI.MediaURL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := o.upload(o.admin, "a.png", picture(t, 40, 20))
			saved, err := o.show(link(got))
			if err != nil {
				t.Fatal(err)
			}
			saved.Content = content.Content{Text: "Sem imagem"} // the version before still shows it
			if _, err := o.store.PutTemplate(t.Context(), saved); err != nil {
				t.Fatal(err)
			}
			path := pages.Path + "/" + o.hash(got.Link) + "/delete"
			if asked := o.admin.Get(path).Text(); !strings.Contains(asked, "Oferta shows this file in version 1") {
				t.Errorf("the question does not name the template: %s", asked)
			}
			if a := o.admin.Post(path, nil); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "Oferta") {
				t.Errorf("deleting answers %d: %s", a.Status, a.Text())
			}
			if status, _, _ := o.get(got.Link); status != http.StatusOK {
				t.Errorf("the link answers %d, want 200", status)
			}
			if _, err := o.show(got.Link); err != nil {
				t.Errorf("the file cannot be shown any more: %v", err)
			}
		})
	}
}

// A template that is saved between the deletion's steps is refused.
func TestDelete_SavedAfterTheMark(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	got := o.upload(o.admin, "a.png", picture(t, 8, 8))
	f, err := o.store.Media(t.Context(), o.tenant, o.hash(got.Link))
	if err == nil {
		err = o.store.MarkMedia(t.Context(), f, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.show(got.Link); !errors.Is(err, campaign.ErrNoMedia) {
		t.Errorf("a template with a file that is being deleted: %v", err)
	}
	if list := o.admin.Get(pages.Path).Text(); !strings.Contains(list, "Being deleted") {
		t.Errorf("the list does not say so: %s", list)
	}
	if a := o.admin.Post(pages.Path+"/"+o.hash(got.Link)+"/delete", nil); a.Status != http.StatusSeeOther {
		t.Errorf("the deletion cannot be repeated: %d", a.Status)
	}
}

// writesAfter returns a store that calls before ahead of each transaction.
func (o office) writesAfter(before func()) *dynamotest.Store {
	client := dynamodb.NewFromConfig(stackenv.Load(o.tb).AWS(), func(options *dynamodb.Options) {
		options.APIOptions = append(options.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("before transactions",
				func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
					if _, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
						before()
					}
					return next.HandleInitialize(ctx, in)
				}), middleware.After)
		})
	})
	return dynamotest.New(dynamo.Tables{Client: client, Campaigns: o.store.Tables().Campaigns, MediaURL: o.store.Tables().MediaURL, Now: o.store.Tables().Now})
}

// A template whose files were there when they were read, and not when it is written.
func TestDelete_BeforeTheWrite(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	got := o.upload(o.admin, "a.png", picture(t, 8, 8))
	deletion := sync.OnceFunc(func() { o.admin.Post(pages.Path+"/"+o.hash(got.Link)+"/delete", nil) })
	o.store = o.writesAfter(deletion)
	if _, err := o.show(got.Link); !errors.Is(err, campaign.ErrNoMedia) {
		t.Errorf("a template with a deleted file: %v", err)
	}
	if status, _, _ := o.get(got.Link); status == http.StatusOK {
		t.Error("the file was not deleted meanwhile, so nothing was tested")
	}
}

// Whatever the order, no saved template shows a file that is gone.
func TestDelete_WhileSaving(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for range 10 {
		got := o.upload(o.admin, "a.png", picture(t, 8, 8))
		saved := make(chan error, 1)
		go func() {
			_, err := o.show(got.Link)
			saved <- err
		}()
		o.admin.Post(pages.Path+"/"+o.hash(got.Link)+"/delete", nil)
		err := <-saved
		if err != nil && !errors.Is(err, campaign.ErrNoMedia) {
			t.Fatal(err)
		}
		if status, _, _ := o.get(got.Link); err == nil && status != http.StatusOK {
			t.Fatalf("a saved template shows a file that answers %d", status)
		}
	}
}

func TestTemplate_FileOfAnotherTenant(t *testing.T) {
	t.Parallel()
	o, other := newOffice(t), newOffice(t)
	body := picture(t, 8, 8)
	got := other.upload(other.admin, "a.png", body)
	for _, link := range []string{got.Link, strings.Replace(got.Link, "/media/", "/%6dedia/", 1)} {
		if _, err := o.show(link); !errors.Is(err, campaign.ErrNoMedia) {
			t.Errorf("a template with the file of another tenant, %s: %v", link, err)
		}
	}
	if own := o.upload(o.admin, "a.png", body); own.Link == got.Link {
		t.Error("the link tells that another tenant has the same file")
	}
}

// A file of another host.
func TestAddURL(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := picture(t, 40, 20)
	site := serve(t, map[string]http.HandlerFunc{
		"/ok.png": func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "ok.png", now, bytes.NewReader(body))
		},
		"/moved.png":    redirect("/ok.png"),
		"/loop.png":     redirect("/loop.png"),
		"/private.png":  redirect("http://169.254.169.254/latest/meta-data"),
		"/page.png":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<!doctype html>")) },
		"/mislabelled":  typed("text/plain", body),
		"/large.png":    sized(strconv.Itoa(mediafile.MaxSize+1), body),
		"/gone.png":     http.NotFound,
		"/unsized.png":  typedStream("image/png", body),
		"/thumbs/a.gif": redirect("/moved.png"),
	})
	for _, test := range []struct{ name, address, want string }{
		{"file", site + "/ok.png", ""},
		{"redirect", site + "/thumbs/a.gif", ""},
		{"endless redirect", site + "/loop.png", "redirects too often"},
		{"redirect to a private address", site + "/private.png", "begins with https"},
		{"HTML", site + "/page.png", "not that of a JPEG"},
		{"another type", site + "/mislabelled", "Content-Type"},
		{"too large", site + "/large.png", "too large"},
		{"missing", site + "/gone.png", "without a file"},
		{"without a size", site + "/unsized.png", "does not state"},
		{"http", "http://example.com/a.png", "begins with https"},
		{"private address", "https://10.0.0.1/a.png", "not on the public internet"},
		{"no answer", "https://127.0.0.1:1/a.png", "did not answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := o.admin.Post(pages.Path+"/urls", url.Values{"address": {test.address}})
			if test.want == "" {
				if a.Location != pages.Path {
					t.Errorf("adding answers %d: %s", a.Status, a.Text())
				}
				return
			}
			if a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Text(), test.want) || !strings.Contains(a.Body, test.address) {
				t.Errorf("adding answers %d: %s, want %q and the URL", a.Status, a.Text(), test.want)
			}
		})
	}
}

// The provider follows no redirects.
func TestAddURL_Redirected(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	site := serve(t, map[string]http.HandlerFunc{"/a.png": typed("image/png", picture(t, 8, 8)), "/moved.png": redirect("/a.png")})
	o.admin.Post(pages.Path+"/urls", url.Values{"address": {site + "/moved.png"}})
	if list := o.viewer.Get(pages.Path).Text(); !strings.Contains(list, site+"/a.png") || strings.Contains(list, "moved.png") {
		t.Errorf("the list shows another URL than the one after the redirect: %s", list)
	}
}

func TestDelete_ShownURL(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	body := picture(t, 8, 8)
	link := serve(t, map[string]http.HandlerFunc{"/a.png": typed("image/png", body)}) + "/a.png"
	if a := o.admin.Post(pages.Path+"/urls", url.Values{"address": {link}}); a.Status != http.StatusSeeOther {
		t.Fatalf("adding answers %d: %s", a.Status, a.Text())
	}
	if _, err := o.show(link); err != nil {
		t.Fatal(err)
	}
	if a := o.admin.Post(pages.Path+"/"+mediafile.Hash(o.tenant, link)+"/delete", nil); a.Status != http.StatusConflict {
		t.Errorf("deleting answers %d, want 409", a.Status)
	}
}

func TestList_Pages(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	const files = 12
	for i := range files {
		address := "https://loja.example/" + strings.Repeat("a", 400) + strconv.Itoa(i)
		f := mediafile.File{
			Tenant: o.tenant, Hash: mediafile.Hash(o.tenant, address), URL: address, Name: strings.Repeat("&", 199) + "x",
			Type: "image/png", Size: 3 << 20, Width: 4000, Height: 4000, CreatedAt: now.Add(-time.Duration(i) * time.Hour),
		}
		if _, err := o.store.AddMedia(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	first := webtest.Light(t, o.admin, pages.Path)
	second := webtest.Light(t, o.admin, first.Next())
	if a, b := strings.Count(first.Body, "data-copy="), strings.Count(second.Body, "data-copy="); a != 10 || b != 2 {
		t.Errorf("the pages show %d and %d files, want 10 and 2", a, b)
	}
}
