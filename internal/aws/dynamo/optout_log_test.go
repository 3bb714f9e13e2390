package dynamo_test

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
)

// optOutLog is the log of opt-outs of a tenant.
type optOutLog struct {
	*testing.T
	store  *dynamotest.Store
	tenant string
}

func newOptOutLog(t *testing.T) optOutLog {
	t.Helper()
	return optOutLog{t, newStore(t), rand.Text()}
}

// add logs an opt-out that was made and arrived before later.
func (l optOutLog) add(phone string, made, arrived time.Duration) reaction.LoggedOptOut {
	l.Helper()
	event := reaction.EventTask{At: later.Add(-made), ArrivedAt: later.Add(-arrived), Blob: phone + made.String()}
	o := reaction.NewLoggedOptOut(event, phone)
	if err := l.store.LogOptOut(l.Context(), l.tenant, o); err != nil {
		l.Fatal(err)
	}
	return o
}

// entries returns the entries that arrived in a time before later.
func (l optOutLog) entries(within time.Duration) (all []reaction.LoggedOptOut) {
	l.Helper()
	for o, err := range l.store.LoggedOptOuts(l.Context(), l.tenant, later.Add(-within)) {
		if err != nil {
			l.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// A repeated opt-out replaces its row. The entries are read in order of arrival, from an arrival on, and expire nine
// days after they were made.
func TestOptOutLog(t *testing.T) {
	t.Parallel()
	l := newOptOutLog(t)
	second := l.add("+5511900000002", 50*time.Hour, time.Minute)
	first := l.add("+5511900000001", time.Hour, time.Hour)
	l.add("+5511900000001", time.Hour, time.Hour)
	if diff := cmp.Diff([]reaction.LoggedOptOut{first, second}, l.entries(time.Hour)); diff != "" {
		t.Errorf("entries of an hour (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]reaction.LoggedOptOut{second}, l.entries(time.Hour-time.Millisecond)); diff != "" {
		t.Errorf("later entries (-want +got):\n%s", diff)
	}
	out, err := l.store.Tables().Client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(l.store.Tables().Campaigns), Key: dynamo.Item{"pk": textOf("OPTOUTLOG#" + l.tenant), "sk": textOf(second.ID)},
	})
	if err != nil {
		t.Fatal(err)
	}
	end, _ := out.Item[dynamo.TTL].(*types.AttributeValueMemberN)
	if want := second.At.Add(campaign.OptOutLogLife).Unix(); end == nil || end.Value != strconv.FormatInt(want, 10) {
		t.Errorf("the row ends at %v, want %d", end, want)
	}
}

func textOf(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// An erasure leaves one row of each day and form of the number, without it, and what others did. It erases entries of
// every page.
func TestEraseLoggedOptOuts(t *testing.T) {
	t.Parallel()
	l := newOptOutLog(t)
	l.add(writer, time.Hour, time.Hour)
	l.add(writer, 2*time.Hour, 30*time.Minute)
	l.add(writer, 49*time.Hour, 49*time.Hour)
	const short = "+551190000001" // a recount counts it beside writer
	l.add(short, 90*time.Minute, 90*time.Minute)
	others := 0
	for i := range 20 {
		l.add(fmt.Sprint("+", 5521900000000+i), time.Duration(i)*time.Minute, time.Duration(i)*time.Minute)
		others++
	}
	for _, want := range []int{4, 0} { // a repeated erasure finds nothing
		if erased, err := l.store.EraseLoggedOptOuts(t.Context(), l.tenant, []string{writer, short}); erased != want || err != nil {
			t.Errorf("erased %d rows, want %d; error %v", erased, want, err)
		}
	}
	found := map[string]int{}
	for _, o := range l.entries(100 * time.Hour) {
		switch o.Phone {
		case writer, short:
			t.Errorf("the number is still in %s", o.ID)
		case "":
			found[o.At.Format(time.DateOnly)]++
		default:
			others--
		}
	}
	if diff := cmp.Diff(map[string]int{"2100-03-01": 2, "2100-02-27": 1}, found); diff != "" || others != 0 {
		t.Errorf("%d entries of others are missing; rows without a number by day (-want +got):\n%s", others, diff)
	}
}

// A day remembers how many of its opt-outs the log has. One that an earlier version counted has none.
func TestDays_Logged(t *testing.T) {
	t.Parallel()
	s, tenant, ctx := newStore(t), rand.Text(), t.Context()
	read := func() campaign.Day {
		t.Helper()
		days, err := s.Days(ctx, tenant, "2100-03-01", "2100-03-01")
		if err != nil || len(days) != 1 {
			t.Fatal(days, err)
		}
		return days[0]
	}
	if set, err := s.SetDay(ctx, tenant, campaign.Day{Date: "2100-03-01", DayCounts: campaign.DayCounts{OptedOut: 2}}); !set || err != nil {
		t.Fatal(set, err)
	}
	for _, counts := range []campaign.DayCounts{{Sent: 3}, {OptedOut: 1}} {
		if err := s.AddDay(ctx, tenant, "2100-03-01", counts); err != nil {
			t.Fatal(err)
		}
	}
	want := campaign.Day{Date: "2100-03-01", DayCounts: campaign.DayCounts{Sent: 3, OptedOut: 3}, Logged: 1, Version: 3}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("the day (-want +got):\n%s", diff)
	}
}
