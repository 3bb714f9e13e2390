package brand_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/brand"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/media/mediafile"
	"campaign-dispatch/localstack/stackenv"
)

const mediaURL = "https://media.example"

// office is a new tenant in the stack's tables with its users, a logo and the pages.
type office struct {
	*webtest.Dashboard
	store         *dynamotest.Store
	tenant        string
	logo          mediafile.File
	admin, viewer webtest.Person
}

// shown reads the brands of a store.
type shown struct {
	web.Store
	store *dynamotest.Store
}

func (s shown) Brand(ctx context.Context, tenant string) (account.Brand, error) {
	return s.store.Brand(ctx, tenant)
}

func newOffice(t *testing.T) office {
	t.Helper()
	env, now := stackenv.Load(t), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], MediaURL: mediaURL, Now: clock,
	})
	ui := webtest.UI(t, clock)
	ui.MediaURL = mediaURL
	o := office{store: store, tenant: strings.ToLower(rand.Text())}
	o.Dashboard = webtest.Serve(t, ui, brand.Area(), &brand.Pages{Store: store, MediaURL: mediaURL})
	ui.Store = shown{ui.Store, store}
	if err := store.SaveTenant(t.Context(), campaign.Tenant{ID: o.tenant, Name: "Loja Bela"}, nil); err != nil {
		t.Fatal(err)
	}
	o.logo = o.addMedia(t, o.tenant, "image/png")
	o.admin, o.viewer = o.SignIn(o.tenant, web.RoleAdmin), o.SignIn(o.tenant, web.RoleViewer)
	return o
}

// addMedia adds a file to the media of a tenant.
func (o office) addMedia(t *testing.T, tenant, kind string) mediafile.File {
	t.Helper()
	return o.addFile(t, mediafile.File{Tenant: tenant, Name: "logo", Type: kind})
}

func (o office) addFile(t *testing.T, f mediafile.File) mediafile.File {
	t.Helper()
	f.Hash = mediafile.Hash(f.Tenant, rand.Text())
	saved, err := o.store.AddMedia(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// save sends the form of a page with other values.
func (o office) save(page webtest.Answer, sender, logo string) webtest.Answer {
	return o.admin.Post(brand.Path, url.Values{"revision": {page.Value("revision")}, "sender": {sender}, "logo": {logo}})
}

func contains(t *testing.T, page webtest.Answer, status int, texts ...string) {
	t.Helper()
	if page.Status != status {
		t.Fatalf("answered %d, want %d\n%s", page.Status, status, page.Body)
	}
	for _, text := range texts {
		if !strings.Contains(page.Body, text) {
			t.Errorf("the page lacks %q:\n%s", text, page.Body)
		}
	}
}

// Until something is chosen, the company's name and initials are shown.
func TestShow_Default(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	contains(t, o.viewer.Get(brand.Path), http.StatusOK, "Loja Bela", `<span class="logo" aria-hidden="true">LB</span>`)
}

func TestChange(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	form := o.admin.Get(brand.Path)
	said := o.admin.Follow(o.save(form, "Bela Moda", o.logo.Hash))
	src := `src="` + mediaURL + "/" + o.logo.Key() + `"`
	contains(t, said, http.StatusOK, "The brand was saved.", `value="Bela Moda"`, `<b>Bela Moda</b>`, `<img class="logo" `+src)
	if policy := said.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' "+mediaURL+"/media/;") {
		t.Errorf("the policy %q does not allow the logo", policy)
	}
	contains(t, o.viewer.Get(brand.Path), http.StatusOK, "Bela Moda", src)
	if got := strings.Join(webtest.AuditedIn(t, o.store, o.tenant), "\n"); !strings.Contains(got, "brand.change Bela Moda") {
		t.Errorf("the audit log has %q", got)
	}
	contains(t, o.admin.Follow(o.save(o.admin.Get(brand.Path), "", "")), http.StatusOK, `<span class="logo" aria-hidden="true">LB</span>`)
}

// Pages load the thumbnail of a large image, and no large image without one.
func TestChange_LargeImage(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	large := mediafile.File{Tenant: o.tenant, Name: "large", Type: "image/png", Size: 1 << 20}
	plain := o.addFile(t, large)
	large.Thumbnail = true
	thumb := o.addFile(t, large)
	form := o.admin.Get(brand.Path)
	if strings.Contains(form.Body, plain.Hash) {
		t.Error("a large image without a thumbnail is offered")
	}
	said := o.admin.Follow(o.save(form, "", thumb.Hash))
	contains(t, said, http.StatusOK, `<img class="logo" src="`+mediaURL+"/"+thumb.ThumbnailKey()+`"`, `value="`+thumb.Hash+`" checked`)
}

func TestChange_TwoTabs(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	one, other := o.admin.Get(brand.Path), o.admin.Get(brand.Path)
	o.save(one, "Primeira", "")
	if again := o.save(one, "Primeira", ""); again.Status != http.StatusSeeOther {
		t.Errorf("the same form again answers %d, want 303", again.Status)
	}
	refused := o.save(other, "Segunda", "")
	contains(t, refused, http.StatusConflict, `value="Segunda"`, "Somebody changed the brand")
	contains(t, o.admin.Get(brand.Path), http.StatusOK, `value="Primeira"`)
	o.save(refused, "Segunda", "")
	contains(t, o.admin.Get(brand.Path), http.StatusOK, `value="Segunda"`)
	want := []string{"admin@example.com brand.change Primeira", "admin@example.com brand.change Segunda"}
	if diff := cmp.Diff(want, webtest.AuditedIn(t, o.store, o.tenant)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestChange_Refused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, test := range map[string]struct{ sender, logo, says string }{
		"long name":            {strings.Repeat("á", 101), "", "too long"},
		"another tenant's":     {"A", o.addMedia(t, "other-"+o.tenant, "image/png").Hash, "is not in your company"},
		"a film":               {"A", o.addMedia(t, o.tenant, "video/mp4").Hash, "is not in your company"},
		"nothing of this kind": {"A", "x", "is not in your company"},
	} {
		page := o.save(o.admin.Get(brand.Path), test.sender, test.logo)
		contains(t, page, http.StatusUnprocessableEntity, test.says)
		if !strings.Contains(page.Body, `value="`+test.sender[:1]) {
			t.Errorf("%s: the form lost the name", name)
		}
	}
	if got := o.viewer.Post(brand.Path, url.Values{"revision": {"0"}}); got.Status != http.StatusForbidden {
		t.Errorf("a viewer's change answers %d, want 403", got.Status)
	}
	if b, err := o.store.Brand(t.Context(), o.tenant); b.Revision != 0 || err != nil {
		t.Errorf("stored %+v, %v", b, err)
	}
}
