package billing_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/billing"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/stackenv"
)

// now is the first day of March in UTC, and the last one of February in São Paulo.
var now = time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)

// office is a new tenant in the stack's tables with its users and the pages.
type office struct {
	*webtest.Dashboard
	store         *dynamotest.Store
	tenant        string
	admin, viewer webtest.Person
}

func newOffice(t *testing.T) office {
	t.Helper()
	env, clock := stackenv.Load(t), func() time.Time { return now }
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock,
	})
	pages := &billing.Pages{Store: store, Admin: &settings.Service{Store: settingsstore.New(dynamo.New(store.Tables())), Now: clock}, Now: clock}
	o := office{Dashboard: webtest.New(t, billing.Area(), pages, clock), store: store, tenant: strings.ToLower(rand.Text())}
	o.admin, o.viewer = o.SignIn(o.tenant, web.RoleAdmin), o.SignIn(o.tenant, web.RoleViewer)
	return o
}

func (o office) stored(t *testing.T) campaign.Billing {
	t.Helper()
	b, err := o.store.Billing(t.Context(), o.tenant)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func amounts(basic, single, day, month string) url.Values {
	return url.Values{"basic": {basic}, "single": {single}, "day": {day}, "month": {month}}
}

func TestChange(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if a := o.admin.Get(billing.Path); a.Status != http.StatusOK || a.Value("basic") != "" {
		t.Fatalf("without prices: %d %s", a.Status, a.Text())
	}
	a := o.admin.Post(billing.Path, amounts("0,0755", " 1.234500 ", "", "R$ 1.500,00"))
	if a.Status != http.StatusSeeOther {
		t.Fatalf("answered %d: %s", a.Status, a.Text())
	}
	want := campaign.Billing{Prices: campaign.Prices{Basic: 75_500, Single: 1_234_500}, Limits: campaign.Spending{Month: 1_500_000_000}}
	if diff := cmp.Diff(want, o.stored(t)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	page := o.admin.Follow(a)
	for _, text := range []string{"Prices and limits saved.", "R$ 0.00 of R$ 1,500.00"} {
		if !strings.Contains(page.Text(), text) {
			t.Errorf("the page lacks %q: %s", text, page.Text())
		}
	}
	if page.Value("basic") != "0.0755" || page.Value("day") != "" || page.Value("month") != "1500.00" {
		t.Errorf("fields %q, %q, %q", page.Value("basic"), page.Value("day"), page.Value("month"))
	}
	again := amounts(page.Value("basic"), page.Value("single"), "", page.Value("month"))
	o.admin.Post(billing.Path, again) // changes nothing
	o.admin.Post(billing.Path, amounts("", "", "", ""))
	if b := o.stored(t); b != (campaign.Billing{}) {
		t.Errorf("after removing all: %+v", b)
	}
	const none, amount = " text:audit.billing.none", " money:"
	if diff := cmp.Diff([]string{
		"admin@example.com billing.change  said audit.billing.basic" + none + amount + "75500" +
			" said audit.billing.single" + none + amount + "1234500 said audit.billing.month" + none + amount + "1500000000",
		"admin@example.com billing.change  said audit.billing.basic" + amount + "75500" + none +
			" said audit.billing.single" + amount + "1234500" + none + " said audit.billing.month" + amount + "1500000000" + none,
	}, webtest.AuditedIn(t, o.store, o.tenant)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestChange_Invalid(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, test := range map[string]struct {
		form  url.Values
		fault string
	}{
		"one price":             {amounts("0.05", "", "", ""), "Fill in both prices, or none."},
		"a price of zero":       {amounts("0.05", "0", "", ""), "Fill in both prices, or none."},
		"limit without prices":  {amounts("", "", "1", ""), "A limit needs the prices: fill them in too."},
		"no amount":             {amounts("US$ 1", "1", "", ""), "The price of a basic message was not understood."},
		"too high":              {amounts("1", "1000.01", "", ""), "The price of a single message was not understood."},
		"thousands separator":   {amounts("1", "1", "1.500", ""), "The limit for a day was not understood. Write it with cents, like 1,500.00 or 1500.00."},
		"negative":              {amounts("1", "1", "", "-1"), "The limit for a month was not understood."},
		"more than a milliard":  {amounts("1", "1", "", "1000000001"), "The limit for a month was not understood."},
		"seven decimals":        {amounts("0.0000001", "1", "", ""), "The price of a basic message was not understood."},
		"marks of the page":     {amounts(`"><script>`, "1", "", ""), "The price of a basic message was not understood."},
		"not the form's fields": {url.Values{"basic": {"1"}}, "Fill in both prices, or none."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := o.admin.Post(billing.Path, test.form)
			if a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Text(), test.fault) || a.Value("basic") != test.form.Get("basic") {
				t.Errorf("%d, basic %q: %s", a.Status, a.Value("basic"), a.Text())
			}
		})
	}
}

func TestChange_AdminsOnly(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if a := o.viewer.Post(billing.Path, amounts("1", "1", "", "")); a.Status != http.StatusForbidden {
		t.Errorf("a viewer's change answers %d", a.Status)
	}
	if b, audit := o.stored(t), webtest.AuditedIn(t, o.store, o.tenant); b.Set() || len(audit) > 0 {
		t.Errorf("stored %+v, audit %q", b, audit)
	}
	a := o.viewer.Get(billing.Path)
	if a.Status != http.StatusOK || strings.Contains(a.Body, `method="post" action="/dashboard/settings/billing"`) || !strings.Contains(a.Text(), "none") {
		t.Errorf("a viewer sees: %d %s", a.Status, a.Text())
	}
}

// A form that was opened before another change overwrites nothing unless it is sent again.
func TestChange_TwoTabs(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	was := o.admin.Get(billing.Path).Value("was")
	o.admin.Post(billing.Path, amounts("1", "2", "", "300"))
	mine := amounts("3", "4", "", "")
	mine.Set("was", was)
	refused := o.admin.Post(billing.Path, mine)
	if refused.Status != http.StatusConflict || refused.Value("basic") != "3" || !strings.Contains(refused.Text(), "R$ 300.00") {
		t.Errorf("the other tab's form: %d, basic %q: %s", refused.Status, refused.Value("basic"), refused.Text())
	}
	if b := o.stored(t); b.Basic != 1_000_000 {
		t.Errorf("stored %+v, want the first tab's prices", b)
	}
	mine.Set("was", refused.Value("was"))
	if a := o.admin.Post(billing.Path, mine); a.Status != http.StatusSeeOther || o.stored(t).Basic != 3_000_000 {
		t.Errorf("sent again: %d, stored %+v", a.Status, o.stored(t))
	}
}

// Of admins who save at the same time, one saves, and the others are told. The audit log has the change of the one.
func TestChange_AtTheSameTime(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	was := o.admin.Get(billing.Path).Value("was")
	var statuses [8]int
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() {
			form := amounts(strconv.Itoa(i+1), strconv.Itoa(i+1), "", "")
			form.Set("was", was)
			statuses[i] = o.admin.Post(billing.Path, form).Status
		})
	}
	all.Wait()
	saved := 0
	for i, status := range statuses {
		switch {
		case status == http.StatusSeeOther && o.stored(t).Basic == campaign.Money(i+1)*1_000_000:
			saved++
		case status != http.StatusConflict:
			t.Errorf("form %d answers %d", i+1, status)
		}
	}
	if saved != 1 {
		t.Errorf("%d were told that theirs is saved: %v", saved, statuses)
	}
	if audit := webtest.AuditedIn(t, o.store, o.tenant); len(audit) != 1 || !strings.Contains(audit[0], fmt.Sprintf("money:%d", o.stored(t).Basic)) {
		t.Errorf("stored %+v, audit %q", o.stored(t), audit)
	}
}

func TestShow_Reserved(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: o.tenant, CampaignID: "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"}, BatchID: "b"},
		Offsets:  []int{0}, Accepted: 1, Due: now, AcceptedAt: now, State: campaign.BatchPending,
		Reserved: 1_250_000, ReservedOn: "2026-02-28",
	}
	for ordinal, date := range []string{"2026-02-28", "2026-03-02", "2026-04-01"} {
		b.BatchID, b.ReservedOn = date, date
		_, _ = rand.Read(b.Key[:])
		if err := o.store.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: "c", Ordinal: ordinal + 1, CreatedAt: now}, rand.Text()); err != nil {
			t.Fatal(err)
		}
	}
	o.admin.Post(billing.Path, amounts("1", "2", "10", "2000"))
	o.admin.Language = "pt"
	page := o.admin.Get(billing.Path)
	for _, text := range []string{"R$ 1,25 de R$ 10,00", "R$ 1,25 de R$ 2.000,00", "Próximos dias R$ 1,25 no orçamento de 02/03/2026"} {
		if !strings.Contains(page.Text(), text) {
			t.Errorf("the page lacks %q: %s", text, page.Text())
		}
	}
	if page.Value("day") != "10,00" {
		t.Errorf("field %q", page.Value("day"))
	}
	webtest.Light(t, o.admin, billing.Path)
}
