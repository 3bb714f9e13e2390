package credentials_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/dashboard/credentials"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

func TestList_Pages(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t)
	const live, revoked = 23, 12
	var ids []string
	for i := range live + revoked {
		c := account.Credential{
			ClientID: strings.ToLower(rand.Text()), Tenant: o.tenant, Name: strings.Repeat("&", 195) + fmt.Sprintf("%05d", i),
			CreatedBy: strings.Repeat("a", 64) + "@example.com", CreatedAt: now.Add(-time.Duration(i) * time.Hour), SecretHash: []byte("x"),
			PreviousSecretHash: []byte("y"), PreviousUntil: now.Add(time.Hour),
		}
		if err := o.store.CreateCredential(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if i >= live {
			if err := o.store.RevokeCredential(t.Context(), c.ClientID); err != nil {
				t.Fatal(err)
			}
		}
		ids = append(ids, c.ClientID)
	}
	for path, want := range map[string][]string{credentials.Path: ids[:live], credentials.Path + "?revoked=1": ids[live:]} {
		var seen []string
		for path != "" {
			page := webtest.Light(t, o.admin, path)
			for _, id := range ids {
				if strings.Contains(page.Body, "<code>"+id+"</code>") {
					seen = append(seen, id)
				}
			}
			path = page.Next()
		}
		if !slices.Equal(seen, want) {
			t.Errorf("shows %d credentials, want %d, each once and the newest first", len(seen), len(want))
		}
	}
	if a := o.admin.Get(credentials.Path + "?from=20"); !strings.Contains(a.Body, `?from=10" rel="prev"`) {
		t.Error("no link leads back")
	}
	for path, want := range map[string]int{"?from=99999": http.StatusOK, "?from=x": http.StatusNotFound, "?from=-1": http.StatusNotFound} {
		if a := o.admin.Get(credentials.Path + path); a.Status != want {
			t.Errorf("%s answers %d, want %d", path, a.Status, want)
		}
	}
}
