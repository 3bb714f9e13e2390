package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/privacy"
	"campaign-dispatch/internal/privacy/keptanswer"
	"campaign-dispatch/internal/privacy/optout"
)

// traces is one person, in everything that a tenant's data can hold of them, among
// other people.
type traces struct {
	c       *client
	phone   string
	words   []string // that nobody else's data holds: numbers, uids, values, texts
	sent    fields   // a campaign of two batches that were sent
	waits   fields   // one whose batch waits for its time
	batches []campaign.BatchRef
	others  map[string][]string // the uids of the others, by campaign
	log     []change            // of the first batch
	hook    receiver
}

// leaveTraces makes a tenant whose data holds the person, in every place there is.
func leaveTraces(t *testing.T) *traces {
	t.Helper()
	c := newClient(t).ownTenant().hear()
	x := &traces{c: c, hook: c.receiver(), others: map[string][]string{}}
	all := messages(203)
	x.phone = all[120]["phone"].(string)
	x.words = append(x.words, x.phone[1:], x.phone[3:])
	first := c.call(x.among(all[:150], 120))
	for i := range 20 { // more than fit an answer that is kept in its row
		first["messages"] = append(first["messages"].([]fields), x.badly(i))
	}
	c.accept(first, "Idempotency-Key", rand.Text())
	second := fields{"campaignId": first["campaignId"], "name": first["name"], "templateId": first["templateId"], "batch": "2", "messages": slices.Concat(all[150:200], []fields{x.badly(30)})}
	c.accept(second, "Idempotency-Key", rand.Text())
	third := c.call(x.among(slices.Concat(all[200:], all[120:121]), 3))
	third["schedule"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	third["batch"] = "later"
	c.accept(third)
	x.sent, x.waits = first, third
	for _, call := range []fields{first, second, third} {
		x.batches = append(x.batches, c.ref(call))
		for _, m := range call["messages"].([]fields) {
			if uid := m["uid"].(string); !x.mine(uid) {
				x.others[call["campaignId"].(string)] = append(x.others[call["campaignId"].(string)], uid)
			}
		}
	}
	c.eventually(3*time.Minute, "read", func() bool { return c.read(first).Counts["read"] == 200 })
	c.happen(fields{"phone": x.phone, "text": x.word("resposta")})
	x.upload()
	x.log = c.batchLog(first, x.batches[0].BatchID)
	c.eventually(5*time.Minute, "told of the reply", func() bool { return x.hook.kinds()["message.replied"] == 1 })
	return x
}

// word returns a word that nothing else holds.
func (x *traces) word(what string) string {
	w := what + rand.Text()
	x.words = append(x.words, w)
	return w
}

func (x *traces) mine(uid string) bool { return slices.Contains(x.words, uid) }

// among makes one of the messages the person's.
func (x *traces) among(all []fields, at int) []fields {
	all = slices.Clone(all)
	all[at] = fields{"phone": x.phone, "uid": x.word("uid"), "vars": fields{"nome": x.word("nome"), "pedido": x.word("pedido")}}
	return all
}

// badly writes the person's number as no number is accepted, or nobody's.
func (x *traces) badly(i int) fields {
	forms := map[int]string{0: "(%s) %s-%s", 1: "0%s%s%s", 30: "%s %s %s"}
	if form, ok := forms[i]; ok {
		number := fmt.Sprintf(form, x.phone[3:5], x.phone[5:10], x.phone[10:])
		x.words = append(x.words, number)
		return fields{"phone": number, "uid": x.word("uid"), "vars": fields{"nome": "x", "pedido": 1}}
	}
	return fields{"phone": fmt.Sprintf("no number %d", i), "uid": fmt.Sprintf("bad-%d", i), "vars": fields{"nome": "Ana", "pedido": 1}}
}

func (c *client) accept(call fields, headers ...string) {
	c.t.Helper()
	if got := c.dispatch(call, headers...); got.status != http.StatusAccepted {
		c.t.Fatalf("answered %d %s", got.status, got.body)
	}
}

// upload leaves a campaign file as the dashboard keeps one.
func (x *traces) upload() {
	x.c.t.Helper()
	file := fmt.Sprintf("{\"campaignId\":\"\"}\nphone;uid\n+5561911111111;a\n%s;%s\n", x.phone, x.word("uid"))
	must(x.c.t, x.c.blobs().Put(x.c.t.Context(), "uploads/"+x.c.env["TENANT"]+"/"+rand.Text()[:22], []byte(file), "application/octet-stream"))
}

// store is the stores of a desk that can die: after so many writes nothing of it
// works any more.
type store struct {
	*dynamo.CampaignStore
	*mortal
}

type bucket struct {
	*s3.Store
	*mortal
}

var errDead = errors.New("dead")

// mortal lives for so many writes. The last one takes place or not, and its answer is
// lost.
type mortal struct {
	mu     sync.Mutex
	left   int
	writes bool // the last one takes place
	dead   bool
}

func (m *mortal) write(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	if m.left--; m.left > 0 {
		return do()
	}
	m.dead = true
	if m.writes {
		return errors.Join(do(), errDead)
	}
	return errDead
}

func (s store) ReplacePayload(ctx context.Context, b campaign.Batch, key string, offsets []int) (ok bool, err error) {
	err = s.write(func() (err error) { ok, err = s.CampaignStore.ReplacePayload(ctx, b, key, offsets); return err })
	return ok, err
}

func (s store) ForgetFormerPayload(ctx context.Context, b campaign.Batch) error {
	return s.write(func() error { return s.CampaignStore.ForgetFormerPayload(ctx, b) })
}

func (s store) ReplaceSet(ctx context.Context, id campaign.ID, read campaign.PackedSet, packed []byte) (ok bool, err error) {
	err = s.write(func() (err error) { ok, err = s.CampaignStore.ReplaceSet(ctx, id, read, packed); return err })
	return ok, err
}

func (s store) ReplaceAnswer(ctx context.Context, a keptanswer.Answer, body []byte) (ok bool, err error) {
	err = s.write(func() (err error) { ok, err = s.CampaignStore.ReplaceAnswer(ctx, a, body); return err })
	return ok, err
}

func (b bucket) Put(ctx context.Context, key string, body []byte, contentType string) error {
	return b.write(func() error { return b.Store.Put(ctx, key, body, contentType) })
}

// Change is a write only where it changes something.
func (b bucket) Change(ctx context.Context, key, contentType string, change func([]byte) ([]byte, error)) error {
	var died error
	err := b.Store.Change(ctx, key, contentType, func(body []byte) ([]byte, error) {
		after, err := change(body)
		if err != nil || after == nil {
			return nil, err
		}
		written := false
		died = b.write(func() error { written = true; return nil })
		if !written {
			return nil, died
		}
		return after, nil
	})
	return errors.Join(err, died)
}

func (b bucket) Delete(ctx context.Context, key string) error {
	return b.write(func() error { return b.Store.Delete(ctx, key) })
}

// people is a desk, two hours from now: what came until now was applied. It dies with
// m.
func (x *traces) people(m *mortal) *privacy.Service {
	soon := func() time.Time { return time.Now().Add(2 * time.Hour) }
	return &privacy.Service{
		Store: store{x.c.store(), m}, Blobs: bucket{x.c.blobs(), m}, OptOuts: &optout.Book{Store: x.c.store(), Now: soon},
		Now: soon, Progress: func(string, int, int) {},
	}
}

func immortal() *mortal { return &mortal{left: 1 << 30} }

func (x *traces) export() privacy.Export {
	x.c.t.Helper()
	got, err := x.people(immortal()).Export(x.c.t.Context(), x.c.env["TENANT"], x.phone)
	must(x.c.t, err)
	return got
}

// found returns where the tenant's data, or the bucket at all, holds any of the
// person's words.
func (x *traces) found() map[string]int {
	x.c.t.Helper()
	places := map[string]int{}
	look := func(place string, content []byte) {
		for _, w := range x.words {
			if bytes.Contains(content, []byte(w)) {
				places[place]++
				return
			}
		}
	}
	live := map[string]bool{}
	for _, ref := range x.batches {
		b := x.c.batch(ref)
		live[b.Payload] = true
		if b.FormerPayload != "" {
			places["former payload"]++
		}
		all, err := payload.ReadAll(x.c.t.Context(), x.c.blobs(), b)
		must(x.c.t, err)
		content, err := json.Marshal(all)
		must(x.c.t, err)
		look("payload", content)
		sets, err := x.c.store().PackedSets(x.c.t.Context(), ref.ID)
		must(x.c.t, err)
		for _, set := range sets {
			numbers, err := numberset.Unpack(set.Packed)
			must(x.c.t, err)
			look("set", fmt.Append(nil, numbers))
		}
	}
	for o, err := range x.c.blobs().List(x.c.t.Context(), "") {
		must(x.c.t, err)
		if strings.HasPrefix(o.Key, "payloads/"+x.c.env["TENANT"]+"/") && !live[o.Key] && !payload.IsPointer(o.Key) {
			places["stray payload"]++
		}
		content, err := x.c.blobs().Get(x.c.t.Context(), o.Key)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		must(x.c.t, err)
		look(strings.SplitN(o.Key, "/", 2)[0], append([]byte(o.Key+"\n"), content...))
	}
	x.rows(func(row []byte) { look("row", row) })
	return places
}

// rows gives the rows of both tables to look, as texts.
func (x *traces) rows(look func(row []byte)) {
	x.c.t.Helper()
	for _, table := range []string{"CAMPAIGNS_TABLE", "AUTH_TABLE"} {
		pages := dynamodb.NewScanPaginator(x.c.store().Client, &dynamodb.ScanInput{TableName: aws.String(x.c.env[table])})
		for pages.HasMorePages() {
			page, err := pages.NextPage(x.c.t.Context())
			must(x.c.t, err)
			for _, row := range page.Items {
				look(flat(row))
			}
		}
	}
}

func flat(row map[string]types.AttributeValue) (content []byte) {
	for _, v := range row {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			content = append(append(content, v.Value...), '\n')
		case *types.AttributeValueMemberB:
			content = append(append(content, v.Value...), '\n')
		case *types.AttributeValueMemberN:
			content = append(append(content, v.Value...), '\n')
		}
	}
	return content
}

// checkOthers fails the test where any of the others' messages is not there.
func (x *traces) checkOthers() {
	x.c.t.Helper()
	for _, call := range []fields{x.sent, x.waits} {
		fates := x.c.fates(call, "")
		for _, uid := range x.others[call["campaignId"].(string)] {
			if strings.HasPrefix(uid, "bad-") {
				continue
			}
			if m := fates[uid]; m.Phone == "" {
				x.c.t.Fatalf("the message of %s is gone", uid)
			}
		}
	}
}

func TestAnExportTellsAllThatIsHeldOfANumber(t *testing.T) {
	t.Parallel()
	x := leaveTraces(t)
	got := x.export()
	told, err := json.Marshal(got)
	must(t, err)
	for _, w := range x.words {
		if !bytes.Contains(told, []byte(w)) {
			t.Errorf("it does not tell %s…", w[:4])
		}
	}
	counts := []int{len(got.Messages), len(got.Rejected), len(got.Answers), len(got.Events), len(got.Uploads)}
	if diff := cmp.Diff([]int{2, 3, 3, 2, 1}, counts); diff != "" {
		t.Errorf("messages, rejected, answers, events, uploads (-want +got):\n%s", diff)
	}
	var statuses []string
	for _, c := range got.Messages[0].Changes {
		statuses = append(statuses, c.Status)
	}
	if len(statuses) < 2 || statuses[0] != "sent" || statuses[len(statuses)-1] != "read" { // delivered may be told too late
		t.Errorf("the changes of the message that was sent are %v", statuses)
	}
	if m := got.Messages[1]; m.Status != "pending" || m.ScheduledFor == nil {
		t.Errorf("the message that waits is %s, for %v", m.Status, m.ScheduledFor)
	}
	if all := string(told); strings.Contains(all, "bad-3") || strings.Contains(all, `"u-1"`) {
		t.Error("it tells of others")
	}
}

func TestNothingIsLeftOfAnErasedNumber(t *testing.T) {
	t.Parallel()
	x := leaveTraces(t)
	c, ctx := x.c, t.Context()
	if got := slices.Sorted(maps.Keys(x.found())); !cmp.Equal(got, []string{"answers", "errors", "events", "payload", "payloads", "row", "set", "uploads"}) {
		t.Fatalf("before: found in %v", got)
	}
	deaths := 0
	for try := 0; ; try++ { // each try does one step more, and dies; every other one before it
		_, err := x.people(&mortal{left: 1 + try%3, writes: try%2 == 0}).Erase(ctx, c.env["TENANT"], x.phone)
		if err == nil {
			break
		}
		if !errors.Is(err, errDead) {
			t.Fatal(err)
		}
		deaths++
		x.checkOthers()
	}
	if deaths < 10 {
		t.Errorf("it died %d times only", deaths)
	}
	x.checkRemains()

	if got := x.found(); len(got) > 0 {
		t.Errorf("after: found in %v", got)
	}
	if got := x.export(); !got.Nothing() {
		t.Errorf("an export tells of %d messages, %d rejected lines", len(got.Messages), len(got.Rejected))
	}
	if again, err := x.people(immortal()).Erase(ctx, c.env["TENANT"], x.phone); err != nil || !again.Nothing() {
		t.Errorf("again, it erased %+v, %v", again, err)
	}
	x.checkOthers()
	x.checkWaiting()
	x.checkLateEvents()
	x.checkEarlyEvents()
}

// checkRemains checks that what the erasures that died left behind is kept as long as a
// table may be restored that knows of it.
func (x *traces) checkRemains() {
	c := x.c
	c.t.Helper()
	young, err := x.people(immortal()).Erase(c.t.Context(), c.env["TENANT"], x.phone)
	if err != nil || young.Complete() || young.Young == 0 || young.Remains > 0 || young.YoungUntil.Before(time.Now().AddDate(0, 0, 34)) {
		c.t.Errorf("beside what was left behind it erased %+v, %v", young, err)
	}
	late := x.people(immortal())
	late.Now = func() time.Time { return time.Now().AddDate(0, 0, 36) }
	if done, err := late.Erase(c.t.Context(), c.env["TENANT"], x.phone); err != nil || done.Remains != young.Young || !done.Complete() {
		c.t.Errorf("36 days later it erased %+v, %v, want the %d payloads", done, err, young.Young)
	}
}

// checkWaiting lets the batch that waits be sent: to all but the person.
func (x *traces) checkWaiting() {
	c := x.c
	c.t.Helper()
	waits := x.waits["messages"].([]fields)
	c.reschedule(x.waits, time.Now().Add(5*time.Second))
	c.eventually(3*time.Minute, "sent to the others", func() bool {
		return cmp.Equal(map[string]int{"read": 3, "failed": 1}, c.read(x.waits).Counts)
	})
	if n := len(c.atProvider(waits)[x.phone]); n != 1 {
		c.t.Errorf("the provider has %d messages to the person, want the 1 that was sent before", n)
	}
	failed := c.fates(x.waits, "&status=failed")
	if diff := cmp.Diff(map[string]string{"": "erased"}, map[string]string{failed[""].Phone: failed[""].Code}); diff != "" {
		c.t.Errorf("phone and code of the message that was erased (-want +got):\n%s", diff)
	}
}

// checkEarlyEvents lets the person opt out once more: what tells of it stays until it
// is surely applied, and the opt-out itself for ever.
func (x *traces) checkEarlyEvents() {
	c := x.c
	c.t.Helper()
	c.happen(fields{"phone": x.phone, "text": "parar"})
	c.eventually(5*time.Minute, "opted out", func() bool { return x.export().OptOut.OptedOut })
	soon := x.people(immortal())
	soon.Now = time.Now
	early, err := soon.Erase(c.t.Context(), c.env["TENANT"], x.phone)
	if err != nil || early.Early != 1 || early.Again.Before(time.Now()) {
		c.t.Errorf("within the hour it erased %+v, %v", early, err)
	}
	late, err := x.people(immortal()).Erase(c.t.Context(), c.env["TENANT"], x.phone)
	if err != nil || late.Early != 0 || late.Events != 1 || !late.OptedOut {
		c.t.Errorf("after the hour it erased %+v, %v", late, err)
	}
	if got := x.export(); !got.Nothing() || !got.OptOut.OptedOut || got.OptOut.Since == nil {
		c.t.Errorf("then an export tells of %d events, and the opt-out %+v", len(got.Events), got.OptOut)
	}
	if got := x.found(); len(got) > 0 { // the opt-out rests packed
		c.t.Errorf("then found in %v", got)
	}
}

// checkLateEvents checks that what was told of the person's messages is counted and
// listed as before, and told to endpoints without the person.
func (x *traces) checkLateEvents() {
	c := x.c
	c.t.Helper()
	if got := c.read(x.sent).Counts; !cmp.Equal(map[string]int{"read": 200}, got) {
		c.t.Errorf("counts %v after the erasure", got)
	}
	for i, e := range c.batchLog(x.sent, x.batches[0].BatchID) { // which has no gaps
		want := x.log[i]
		if x.mine(want.UID) {
			want.UID = ""
		}
		if e != want {
			c.t.Errorf("event %d is %+v now, it was %+v", i+1, e, x.log[i])
		}
	}
	c.eventually(5*time.Minute, "told of the message that was not sent", func() bool {
		for _, post := range x.hook.posts() {
			if strings.Contains(post.Body, `"code":"erased"`) {
				return strings.Contains(post.Body, `"erased":true`) && strings.Contains(post.Body, `"phone":""`) && strings.Contains(post.Body, `"uid":""`)
			}
		}
		return false
	})
}
