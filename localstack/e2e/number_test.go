package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
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

	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/privacy"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/optout"
)

// personData is the data of one phone number in a tenant with other numbers.
type personData struct {
	c       *client
	phone   string
	words   []string // unique words of the data: numbers, uids, values, texts
	sent    fields   // a campaign with two sent batches
	waits   fields   // a campaign with a scheduled batch
	batches []campaign.BatchRef
	others  map[string][]string // uids of the other numbers, by campaign
	log     []change            // log of the first batch
	hook    receiver
	began   time.Time
	clean   map[string]time.Time // objects without a word: when they were written, by key
	answers answers
}

// sentPersonData are the counts of the campaign with two sent batches.
var sentPersonData = map[string]int{"sent": 179, "read": 21}

// newPersonData creates a tenant with data of one phone number in every kind of row and
// object.
func newPersonData(t *testing.T) *personData {
	t.Helper()
	c := newClient(t).ownTenant().receiveEvents()
	x := &personData{c: c, hook: c.receiver(), others: map[string][]string{}, began: time.Now(), clean: map[string]time.Time{}}
	all := messages(203)
	x.phone = all[120]["phone"].(string)
	quiet := slices.Concat(all[10:120], all[121:190]) // nobody reads these: each event costs calls of functions
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(quiet, "undelivered"), nil)
	x.words = append(x.words, x.phone[1:], x.phone[3:])
	first := c.call(x.among(all[:150], 120))
	for i := range 20 { // too many for a kept response in its row
		first["messages"] = append(first["messages"].([]fields), x.invalidMessage(i))
	}
	c.accept(first, "Idempotency-Key", rand.Text())
	second := fields{"campaignId": first["campaignId"], "name": first["name"], "templateId": first["templateId"], "batch": "2", "messages": slices.Concat(all[150:200], []fields{x.invalidMessage(30)})}
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
	c.eventually(3*time.Minute, "sent or read", func() bool { return cmp.Equal(sentPersonData, c.read(first).Counts) })
	c.sendEvent(fields{"phone": x.phone, "text": x.word("resposta")})
	x.upload()
	x.log = c.batchLog(first, x.batches[0].BatchID)
	c.eventually(5*time.Minute, "webhook of the reply received", func() bool { return x.hook.kinds()["message.replied"] == 1 })
	return x
}

// word returns a new unique word of the number's data.
func (x *personData) word(what string) string {
	w := what + rand.Text()
	x.words = append(x.words, w)
	return w
}

func (x *personData) mine(uid string) bool { return slices.Contains(x.words, uid) }

// among replaces one of the messages with a message to the number.
func (x *personData) among(all []fields, at int) []fields {
	all = slices.Clone(all)
	all[at] = fields{"phone": x.phone, "uid": x.word("uid"), "vars": fields{"nome": x.word("nome"), "pedido": x.word("pedido")}}
	return all
}

// invalidMessage returns a message with the number in a rejected format, or with another
// invalid number.
func (x *personData) invalidMessage(i int) fields {
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
		c.t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
}

// upload stores a campaign file as the dashboard does, and a part that is not accepted any more.
func (x *personData) upload() {
	x.c.t.Helper()
	file := fmt.Sprintf("phone;uid\n+5561911111111;a\n%s;%s\n", x.phone, x.word("uid"))
	must(x.c.t, x.c.blobs().Put(x.c.t.Context(), submission.WorkPrefix+x.c.env["TENANT"]+"/"+rand.Text()[:22]+"/file", []byte(file), "application/octet-stream"))
	part := submission.EncodePart([]submission.Message{{Line: 2, Phone: x.phone, UID: x.word("uid")}, {Line: 3, Phone: "+5561911111111", UID: "a"}}, 2)
	id := campaign.ID{Tenant: x.c.env["TENANT"], CampaignID: x.sent["campaignId"].(string)}
	must(x.c.t, x.c.blobs().Put(x.c.t.Context(), submission.NotAcceptedKey(id, campaign.SubmissionTotals{Check: 1}, 2), part, "application/x-ndjson"))
}

// erasure and bucket fail after a limited number of writes, as after a crash.
type erasure struct {
	*dynamotest.Store
	*limitedWrites

	answers *answers
}

// answers are the stored responses of all tests. An erasure scans the table for them, which has megabytes by other tests,
// and this test erases some fifteen times: it scans once. Its own responses change by its erasures alone.
type answers struct{ all []acceptance.KeptAnswer }

// read keeps the responses, unless it did.
func (k *answers) read(scanned iter.Seq2[acceptance.KeptAnswer, error]) error {
	if k.all != nil {
		return nil
	}
	var all []acceptance.KeptAnswer
	for a, err := range scanned {
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	k.all = all
	return nil
}

// replace changes the body of a response that an erasure has changed in the table.
func (k *answers) replace(key [2]string, body []byte) {
	for i := range k.all {
		if k.all[i].Key == key {
			k.all[i].Body = body
		}
	}
}

type bucket struct {
	*s3.Store
	*limitedWrites
}

var errWriteLimit = errors.New("write limit exceeded")

// limitedWrites allows a number of writes. The last one returns an error, whether or not
// it takes place, and stops the reads too.
type limitedWrites struct {
	mu     sync.Mutex
	left   int
	writes bool   // the last one takes place
	last   string // a write to an object with this prefix is the last one, and takes place
	dead   bool
	stop   context.CancelFunc
}

// endAt makes the next write the last one if it is the one to end at.
func (m *limitedWrites) endAt(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != "" && strings.HasPrefix(key, m.last) {
		m.left, m.writes = 1, true
	}
}

func (m *limitedWrites) write(do func() error) error {
	err := m.count(do)
	if errors.Is(err, errWriteLimit) {
		m.stop()
	}
	return err
}

func (m *limitedWrites) count(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errWriteLimit
	}
	if m.left--; m.left > 0 {
		return do()
	}
	m.dead = true
	if m.writes {
		return errors.Join(do(), errWriteLimit)
	}
	return errWriteLimit
}

func (s erasure) ReplacePayload(ctx context.Context, b campaign.Batch, key string, offsets []int) (ok bool, err error) {
	err = s.write(func() (err error) { ok, err = s.Store.ReplacePayload(ctx, b, key, offsets); return err })
	return ok, err
}

func (s erasure) ClearFormerPayload(ctx context.Context, b campaign.Batch) error {
	return s.write(func() error { return s.Store.ClearFormerPayload(ctx, b) })
}

func (s erasure) ReplaceSet(ctx context.Context, id campaign.ID, read acceptance.PackedSet, packed []byte) (ok bool, err error) {
	err = s.write(func() (err error) { ok, err = s.Store.ReplaceSet(ctx, id, read, packed); return err })
	return ok, err
}

func (s erasure) ReplaceAnswer(ctx context.Context, a acceptance.KeptAnswer, body []byte) (ok bool, err error) {
	err = s.write(func() (err error) {
		if ok, err = s.Store.ReplaceAnswer(ctx, a, body); ok {
			s.answers.replace(a.Key, body)
		}
		return err
	})
	return ok, err
}

func (s erasure) KeptAnswers(ctx context.Context, progress func(rows int)) iter.Seq2[acceptance.KeptAnswer, error] {
	return func(yield func(acceptance.KeptAnswer, error) bool) {
		if err := s.answers.read(s.Store.KeptAnswers(ctx, progress)); err != nil {
			yield(acceptance.KeptAnswer{}, err)
			return
		}
		for _, a := range slices.Clone(s.answers.all) {
			if !yield(a, nil) {
				return
			}
		}
	}
}

func (b bucket) Put(ctx context.Context, key string, body []byte, contentType string) error {
	b.endAt(key)
	return b.write(func() error { return b.Store.Put(ctx, key, body, contentType) })
}

// Change counts as a write only if it changes the object.
func (b bucket) Change(ctx context.Context, key, contentType string, change func([]byte) ([]byte, error)) error {
	var died error
	err := b.Store.Change(ctx, key, contentType, func(body []byte) ([]byte, error) {
		after, err := change(body)
		if err != nil || after == nil {
			return nil, err
		}
		written := false
		died = b.count(func() error { written = true; return nil })
		if !written {
			return nil, died
		}
		return after, nil
	})
	if died != nil {
		b.stop()
	}
	return errors.Join(err, died)
}

func (b bucket) Delete(ctx context.Context, key string) error {
	return b.write(func() error { return b.Store.Delete(ctx, key) })
}

// service returns a privacy service with a limit of writes. Its clock is two hours ahead,
// when all received events count as applied.
func (x *personData) service(m *limitedWrites) *privacy.Service {
	soon := func() time.Time { return time.Now().Add(2 * time.Hour) }
	rows := x.c.personRows()
	rows.Erasure = erasure{x.c.store(), m, &x.answers}
	return &privacy.Service{
		Store: rows, Blobs: bucket{x.c.blobs(), m}, OptOuts: &optout.Book{Store: x.c.store(), Now: soon},
		Lists: &book.Book{Store: x.c.store(), Blobs: x.c.blobs(), Now: soon},
		Now:   soon, Progress: func(string, int, int) {},
	}
}

// personRows has the rows with personal data.
func (c *client) personRows() privacy.Store {
	s := c.store()
	return privacy.Store{Campaigns: s, Outcomes: s, Erasure: s}
}

func unlimitedWrites() *limitedWrites { return &limitedWrites{left: 1 << 30} }

func (x *personData) export() privacy.Export {
	x.c.t.Helper()
	got, err := x.service(unlimitedWrites()).Export(x.c.t.Context(), x.c.env["TENANT"], x.phone)
	must(x.c.t, err)
	return got
}

// found counts the tenant's rows and the bucket's objects that contain a word of the
// number's data, by kind.
func (x *personData) found() map[string]int {
	x.c.t.Helper()
	places := map[string]int{}
	look := func(place string, content []byte) bool {
		found := slices.ContainsFunc(x.words, func(w string) bool { return bytes.Contains(content, []byte(w)) })
		if found {
			places[place]++
		}
		return found
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
		if x.seenClean(o) {
			continue
		}
		content, err := x.c.blobs().Get(x.c.t.Context(), o.Key)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		must(x.c.t, err)
		if !look(strings.SplitN(o.Key, "/", 2)[0], append([]byte(o.Key+"\n"), content...)) {
			x.clean[o.Key] = o.At
		}
	}
	x.rows(func(row []byte) { look("row", row) })
	return places
}

// seenClean reports whether an object is older than the words, or had none and was not written
// since. Others fill the bucket meanwhile, and a look reads no more than is new.
func (x *personData) seenClean(o campaign.Blob) bool {
	at, seen := x.clean[o.Key]
	return o.At.Before(x.began.Add(-time.Second)) || seen && o.At.Equal(at)
}

// rows calls look with each row of both tables as text.
func (x *personData) rows(look func(row []byte)) {
	x.c.t.Helper()
	for _, table := range []string{"CAMPAIGNS_TABLE", "AUTH_TABLE"} {
		pages := dynamodb.NewScanPaginator(x.c.store().Tables().Client, &dynamodb.ScanInput{TableName: aws.String(x.c.env[table])})
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

// checkOthers fails the test if a message of another number is missing.
func (x *personData) checkOthers() {
	x.c.t.Helper()
	for _, call := range []fields{x.sent, x.waits} {
		fates := x.c.fates(call, "")
		for _, uid := range x.others[call["campaignId"].(string)] {
			if strings.HasPrefix(uid, "bad-") {
				continue
			}
			if m := fates[uid]; m.Phone == "" {
				x.c.t.Fatalf("the message %s of another number is missing", uid)
			}
		}
	}
}

func TestExport_AllData(t *testing.T) {
	t.Parallel()
	x := newPersonData(t)
	got := x.export()
	document, err := json.Marshal(got)
	must(t, err)
	for _, w := range x.words {
		if !bytes.Contains(document, []byte(w)) {
			t.Errorf("the export does not contain %s…", w[:4])
		}
	}
	counts := []int{len(got.Messages), len(got.Rejected), len(got.Answers), len(got.Events), len(got.Uploads)}
	if diff := cmp.Diff([]int{2, 3, 3, 2, 2}, counts); diff != "" {
		t.Errorf("messages, rejected, answers, events, uploads (-want +got):\n%s", diff)
	}
	var statuses []string
	for _, c := range got.Messages[0].Changes {
		statuses = append(statuses, c.Status)
	}
	if len(statuses) < 2 || statuses[0] != "sent" || statuses[len(statuses)-1] != "read" { // the delivered event may be late
		t.Errorf("changes of the sent message: %v", statuses)
	}
	if m := got.Messages[1]; m.Status != "pending" || m.ScheduledFor == nil {
		t.Errorf("the scheduled message is %s, scheduled for %v", m.Status, m.ScheduledFor)
	}
	if all := string(document); strings.Contains(all, "bad-3") || strings.Contains(all, `"u-1"`) {
		t.Error("the export contains data of other numbers")
	}
}

func TestErase_AllData(t *testing.T) {
	t.Parallel()
	x := newPersonData(t)
	c, ctx := x.c, t.Context()
	if got := slices.Sorted(maps.Keys(x.found())); !cmp.Equal(got, []string{"answers", "errors", "events", "parts", "payload", "payloads", "row", "set", "work"}) {
		t.Fatalf("before the erasure: found in %v", got)
	}
	x.crashAfterPayload()
	crashes := 0
	for try := 0; ; try++ { // each try crashes after 1 to 3 writes; every second one omits the last
		ctx, stop := context.WithCancel(t.Context())
		_, err := x.service(&limitedWrites{left: 1 + try%3, writes: try%2 == 0, stop: stop}).Erase(ctx, c.env["TENANT"], x.phone)
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, errWriteLimit) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		crashes++
		x.checkOthers()
	}
	if crashes < 10 {
		t.Errorf("the erasure crashed %d times, want 10 at least", crashes)
	}
	x.checkOrphanedPayloads()

	if got := x.found(); len(got) > 0 {
		t.Errorf("after the erasure: found in %v", got)
	}
	if got := x.export(); !got.Nothing() {
		t.Errorf("export after the erasure: %d messages, %d rejected lines, want none", len(got.Messages), len(got.Rejected))
	}
	if again, err := x.service(unlimitedWrites()).Erase(ctx, c.env["TENANT"], x.phone); err != nil || !again.Nothing() {
		t.Errorf("second erasure: %+v, %v, want nothing", again, err)
	}
	x.checkOthers()
	x.checkWaiting()
	x.checkLateEvents()
	x.checkEarlyEvents()
}

// crashAfterPayload ends an erasure after it wrote a payload that no batch refers to yet.
func (x *personData) crashAfterPayload() {
	c := x.c
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	defer stop()
	m := &limitedWrites{left: 1 << 30, last: "payloads/", stop: stop}
	if _, err := x.service(m).Erase(ctx, c.env["TENANT"], x.phone); !errors.Is(err, errWriteLimit) && !errors.Is(err, context.Canceled) {
		c.t.Fatalf("an erasure that crashes after a payload: %v", err)
	}
	x.checkOthers()
}

// checkOrphanedPayloads checks that payloads of crashed erasures are kept as long as a
// restored table may reference them.
func (x *personData) checkOrphanedPayloads() {
	c := x.c
	c.t.Helper()
	young, err := x.service(unlimitedWrites()).Erase(c.t.Context(), c.env["TENANT"], x.phone)
	if err != nil || young.Complete() || young.Young == 0 || young.Remains > 0 || young.YoungUntil.Before(time.Now().AddDate(0, 0, 34)) {
		c.t.Errorf("erasure with recent orphaned payloads: %+v, %v", young, err)
	}
	late := x.service(unlimitedWrites())
	late.Now = func() time.Time { return time.Now().AddDate(0, 0, 36) }
	if done, err := late.Erase(c.t.Context(), c.env["TENANT"], x.phone); err != nil || done.Remains != young.Young || !done.Complete() {
		c.t.Errorf("erasure 36 days later: %+v, %v, want the %d payloads", done, err, young.Young)
	}
}

// checkWaiting sends the scheduled batch and checks that the erased message is not sent.
func (x *personData) checkWaiting() {
	c := x.c
	c.t.Helper()
	waits := x.waits["messages"].([]fields)
	c.reschedule(x.waits, time.Now().Add(5*time.Second))
	c.eventually(3*time.Minute, "other messages of the scheduled batch sent", func() bool {
		return cmp.Equal(map[string]int{"read": 3, "failed": 1}, c.read(x.waits).Counts)
	})
	if n := len(c.atProvider(waits)[x.phone]); n != 1 {
		c.t.Errorf("the provider has %d messages to the number, want 1 from before the erasure", n)
	}
	failed := c.fates(x.waits, "&status=failed")
	if diff := cmp.Diff(map[string]string{"": "erased"}, map[string]string{failed[""].Phone: failed[""].Code}); diff != "" {
		c.t.Errorf("phone and code of the erased message (-want +got):\n%s", diff)
	}
}

// checkEarlyEvents opts the number out again. An erasure keeps the event until it is
// certainly applied, and always keeps the opt-out.
func (x *personData) checkEarlyEvents() {
	c := x.c
	c.t.Helper()
	c.sendEvent(fields{"phone": x.phone, "text": "parar"})
	c.eventually(5*time.Minute, "opted out", x.optedOut)
	soon := x.service(unlimitedWrites())
	soon.Now = time.Now
	early, err := soon.Erase(c.t.Context(), c.env["TENANT"], x.phone)
	if err != nil || early.Early != 1 || early.Again.Before(time.Now()) {
		c.t.Errorf("erasure within the hour: %+v, %v", early, err)
	}
	var late privacy.Erased
	c.eventually(time.Minute, "the opt-out's content erased", func() bool { // its mark is removed after it takes effect
		late, err = x.service(unlimitedWrites()).Erase(c.t.Context(), c.env["TENANT"], x.phone)
		return late.Early == 0
	})
	if err != nil || late.Early != 0 || late.Events != 1 || !late.OptedOut {
		c.t.Errorf("erasure after the hour: %+v, %v", late, err)
	}
	if got := x.export(); !got.Nothing() || !got.OptOut.OptedOut || got.OptOut.Since == nil {
		c.t.Errorf("export: %d events and opt-out %+v, want the opt-out only", len(got.Events), got.OptOut)
	}
	if got := x.found(); len(got) > 0 { // the opt-out is packed, so its number is not found
		c.t.Errorf("after the erasure: found in %v", got)
	}
}

func (x *personData) optedOut() bool {
	x.c.t.Helper()
	out, _, err := x.service(unlimitedWrites()).OptOuts.FirstOut(x.c.t.Context(), x.c.env["TENANT"], []string{x.phone})
	must(x.c.t, err)
	return out != ""
}

// checkLateEvents checks that the outcomes of erased messages are counted and listed as
// before, and that their webhooks have no data of the number.
func (x *personData) checkLateEvents() {
	c := x.c
	c.t.Helper()
	if got := c.read(x.sent).Counts; !cmp.Equal(sentPersonData, got) {
		c.t.Errorf("counts %v after the erasure", got)
	}
	for i, e := range c.batchLog(x.sent, x.batches[0].BatchID) { // also checks for gaps
		want := x.log[i]
		if x.mine(want.UID) {
			want.UID = ""
		}
		if e != want {
			c.t.Errorf("event %d is %+v, was %+v", i+1, e, x.log[i])
		}
	}
	c.eventually(5*time.Minute, "webhook of the erased message received", func() bool {
		for _, post := range x.hook.posts() {
			if strings.Contains(post.Body, `"code":"erased"`) {
				return strings.Contains(post.Body, `"erased":true`) && strings.Contains(post.Body, `"phone":""`) && strings.Contains(post.Body, `"uid":""`)
			}
		}
		return false
	})
}
