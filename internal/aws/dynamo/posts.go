package dynamo

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// Attribute name prefixes of a tenant's hourly post counts, followed by the endpoint ID.
const (
	acceptedPrefix = "accepted#"
	failedPrefix   = "failed#"
)

// AddPosts adds posts to the hourly counts of a tenant's endpoints, by endpoint ID, with
// one write.
func (s *OutcomeStore) AddPosts(ctx context.Context, tenant string, at time.Time, posts map[string]delivery.PostCount) error {
	var add []string
	names, values := map[string]string{}, Item{":ttl": number(at.Truncate(time.Hour).Add(campaign.PostsLife).Unix())}
	count := func(name string, n int) {
		if n > 0 {
			i := strconv.Itoa(len(add))
			names["#n"+i], values[":n"+i] = name, number(n)
			add = append(add, "#n"+i+" :n"+i)
		}
	}
	for id, p := range posts {
		count(acceptedPrefix+id, p.Accepted)
		count(failedPrefix+id, p.Failed)
	}
	if len(add) == 0 {
		return nil
	}
	w := s.update(hourKey(tenant, at.UTC().Format(hourForm)), "ADD "+strings.Join(add, ", ")+" SET "+TTL+" = :ttl", "", values)
	w.Update.ExpressionAttributeNames = names // an endpoint's ID is no placeholder
	return s.tryWrite(ctx, "count the posts of tenant "+tenant, inTable(s.Webhooks, w))
}

// HourlyPosts returns the posts to an endpoint per hour since an instant, in order. Hours
// without posts are omitted.
func (s *OutcomeStore) HourlyPosts(ctx context.Context, tenant, endpointID string, since time.Time) ([]delivery.HourlyPosts, error) {
	from := hourKey(tenant, since.UTC().Format(hourForm))
	rows, err := s.queryIn(ctx, "read the posts to endpoint "+endpointID, s.Webhooks, "pk = :pk AND sk >= :since",
		Item{":pk": from["pk"], ":since": from["sk"]})
	if err != nil {
		return nil, err
	}
	posts := make([]delivery.HourlyPosts, 0, len(rows))
	for _, row := range rows {
		hour, _ := time.Parse(hourForm, getText(row, "sk")) // in the format of the key
		p := delivery.HourlyPosts{Hour: hour, Accepted: getInt(row, acceptedPrefix+endpointID), Failed: getInt(row, failedPrefix+endpointID)}
		if p.Accepted+p.Failed > 0 {
			posts = append(posts, p)
		}
	}
	return posts, nil
}

// RecordFailure records a failed webhook.
func (s *EndpointStore) RecordFailure(ctx context.Context, f delivery.Failure) error {
	row := with(failureKey(f), Item{
		"kind": text(f.Kind), "messageId": text(f.MessageID), "status": number(f.Status), "code": text(f.Code),
		"attempt": number(f.Attempt), "deliveryId": text(f.Task.DeliveryID), "blob": text(f.Blob),
		TTL: number(f.At.Add(campaign.FailureLife).Unix()),
	})
	with(row, some(Item{"entry": bytesOf(f.Entry), "took": number(f.Took.Milliseconds()), "kept": boolean(f.Kept)}))
	return s.tryWrite(ctx, "record a failure of endpoint "+f.EndpointID, inTable(s.Webhooks, s.put(row)))
}

// Failure reads the failure of a webhook at an instant. The error wraps
// campaign.ErrNotFound if it does not exist.
func (s *EndpointStore) Failure(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (delivery.Failure, error) {
	key := failureKey(delivery.Failure{Tenant: tenant, EndpointID: endpointID, WebhookID: webhookID, At: at})
	row, err := s.getFrom(ctx, "read a failure of endpoint "+endpointID, s.Webhooks, key)
	return readFailure(tenant, endpointID, row), err
}

// Failures returns up to limit failures of an endpoint, newest first.
func (s *EndpointStore) Failures(ctx context.Context, tenant, endpointID string, limit int) ([]delivery.Failure, error) {
	return s.FailuresBefore(ctx, tenant, endpointID, delivery.Place{}, limit)
}

// FailuresBefore is Failures for those before a place.
func (s *EndpointStore) FailuresBefore(
	ctx context.Context, tenant, endpointID string, before delivery.Place, limit int,
) ([]delivery.Failure, error) {
	rows, err := s.newest(ctx, "read the failures of endpoint "+endpointID, s.Webhooks, failuresPK(tenant, endpointID), placeSK(before), limit)
	return readOf(rows, tenant, endpointID, readFailure), err
}

// FailuresAbout returns the failures about a message after a time, newest first, among the last limit of an endpoint.
// looked is the time of the oldest failure that was looked at, zero if that was all.
func (s *EndpointStore) FailuresAbout(
	ctx context.Context, tenant, endpointID, messageID string, after time.Time, limit int,
) (failures []delivery.Failure, looked time.Time, err error) {
	rows, looked, err := s.newestAbout(ctx, "read the failures of endpoint "+endpointID, failuresPK(tenant, endpointID), messageID, after, limit)
	return readOf(rows, tenant, endpointID, readFailure), looked, err
}

func failuresPK(tenant, endpointID string) attribute {
	return failureKey(delivery.Failure{Tenant: tenant, EndpointID: endpointID})["pk"]
}

// readOf reads the rows of an endpoint.
func readOf[T any](rows []Item, tenant, endpointID string, read func(tenant, endpointID string, row Item) T) []T {
	return readAll(rows, func(row Item) T { return read(tenant, endpointID, row) })
}

// newestAbout reads the rows about a message after a time, newest first, among the last limit of a partition. It
// includes rows that do not name their message. looked is the time of the oldest row that was looked at, zero if that
// was all.
func (t *table) newestAbout(
	ctx context.Context, doing string, pk attribute, messageID string, after time.Time, limit int, attributes ...string,
) (rows []Item, looked time.Time, err error) {
	in := newestOf(t.Webhooks, "pk = :pk AND sk > :after", Item{":pk": pk, ":after": text(instantSK(after, ""))}, limit, attributes...)
	in.FilterExpression = aws.String("messageId = :message OR messageId = :packed OR attribute_not_exists(messageId)")
	with(in.ExpressionAttributeValues, Item{":message": text(messageID), ":packed": bytesOf(packMessageID(messageID))})
	out, err := t.Client.Query(ctx, in)
	if err != nil {
		return nil, looked, fmt.Errorf("%s: %w", doing, err)
	}
	if len(out.LastEvaluatedKey) > 0 {
		looked, _ = readInstantKey(out.LastEvaluatedKey)
	}
	return t.unexpiredRows(out.Items), looked, nil
}

// readInstantKey returns the parts of instantSK.
func readInstantKey(row Item) (at time.Time, id string) {
	instant, id, _ := strings.Cut(getText(row, "sk"), "#")
	at, _ = time.Parse(instantForm, instant)
	return at, id
}

func readFailure(tenant, endpointID string, row Item) delivery.Failure {
	at, id := readInstantKey(row)
	return delivery.Failure{
		Tenant: tenant, EndpointID: endpointID, WebhookID: id, At: at, Kind: delivery.Kind(getText(row, "kind")),
		MessageID: getText(row, "messageId"), Status: getInt(row, "status"), Code: getText(row, "code"),
		Attempt: getInt(row, "attempt"), Took: time.Duration(getNumber(row, "took")) * time.Millisecond, Kept: getBool(row, "kept"),
		Task:  delivery.NotifyTask{DeliveryID: getText(row, "deliveryId"), Tenant: tenant, EndpointID: endpointID},
		Entry: getBinary(row, "entry"), Blob: getText(row, "blob"),
	}
}

// KeepPost writes a post with its payload and its answer. A repeated call changes nothing.
func (s *DeliveryStore) KeepPost(ctx context.Context, p delivery.KeptPost) error {
	row := with(keptPostKey(p), Item{
		"kind": text(p.Kind), "status": number(p.Status), "payload": bytesOf(p.Payload),
		TTL: number(p.At.Add(campaign.KeptPostLife).Unix()),
	})
	with(row, some(Item{ // most rows have about a kilobyte, which costs one write unit
		"attempt": number(p.Attempt), "code": text(p.Code), "took": number(p.Took.Milliseconds()), "answer": text(p.Answer.Text),
		"cut": boolean(p.Answer.Cut), "notText": boolean(p.Answer.NotText), "entry": bytesOf(p.Entry), "blob": text(p.Blob),
		"messageId": bytesOf(packMessageID(p.MessageID)),
	}))
	return s.tryWrite(ctx, "keep a post to endpoint "+p.EndpointID, inTable(s.Webhooks, s.put(row)))
}

// KeptPost reads the kept post of a webhook at an instant. The error wraps
// campaign.ErrNotFound if there is none.
func (s *DeliveryStore) KeptPost(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (delivery.KeptPost, error) {
	key := keptPostKey(delivery.KeptPost{Tenant: tenant, EndpointID: endpointID, WebhookID: webhookID, At: at})
	row, err := s.getFrom(ctx, "read a post to endpoint "+endpointID, s.Webhooks, key)
	return readKeptPost(tenant, endpointID, row), err
}

// KeptPostsBefore returns up to limit kept posts of an endpoint before a place, newest first, without their answers.
func (s *DeliveryStore) KeptPostsBefore(
	ctx context.Context, tenant, endpointID string, before delivery.Place, limit int,
) ([]delivery.KeptPost, error) {
	rows, err := s.newest(ctx, "read the posts to endpoint "+endpointID, s.Webhooks, keptPostsPK(tenant, endpointID), placeSK(before), limit,
		listedPost...)
	return readOf(rows, tenant, endpointID, readKeptPost), err
}

// KeptPostsAbout is FailuresAbout for kept posts, without their answers. It includes posts that do not name their message.
func (s *DeliveryStore) KeptPostsAbout(
	ctx context.Context, tenant, endpointID, messageID string, after time.Time, limit int,
) (posts []delivery.KeptPost, looked time.Time, err error) {
	rows, looked, err := s.newestAbout(
		ctx, "read the posts to endpoint "+endpointID, keptPostsPK(tenant, endpointID), messageID, after, limit, listedPost...)
	return readOf(rows, tenant, endpointID, readKeptPost), looked, err
}

// listedPost are the attributes of a kept post without its answer.
var listedPost = []string{"pk", "sk", "kind", "messageId", "attempt", "status", "code", "took", "payload", "entry", "blob"}

func keptPostsPK(tenant, endpointID string) attribute {
	return keptPostKey(delivery.KeptPost{Tenant: tenant, EndpointID: endpointID})["pk"]
}

// AllKeptPosts yields the kept posts of all endpoints of a tenant. Expired posts that are not
// deleted yet are included.
func (s *DeliveryStore) AllKeptPosts(ctx context.Context, tenant string) iter.Seq2[delivery.KeptPost, error] {
	return func(yield func(delivery.KeptPost, error) bool) {
		endpoints, err := (&EndpointStore{s.table}).Endpoints(ctx, tenant)
		if err != nil {
			yield(delivery.KeptPost{}, err)
			return
		}
		for _, e := range endpoints {
			in := queryOf(s.Webhooks, "pk = :pk", Item{":pk": keptPostsPK(e.Tenant, e.ID)})
			in.ConsistentRead = aws.Bool(true)
			for row, err := range s.each(ctx, "read the posts to endpoint "+e.ID, in) {
				if !yield(readKeptPost(e.Tenant, e.ID, row), err) || err != nil {
					return
				}
			}
		}
	}
}

// DeleteKeptPost deletes a kept post. A deleted one is not an error.
func (s *DeliveryStore) DeleteKeptPost(ctx context.Context, p delivery.KeptPost) error {
	return s.tryWrite(ctx, "delete a post to endpoint "+p.EndpointID, inTable(s.Webhooks, s.remove(keptPostKey(p))))
}

// packMessageID returns a message ID as BatchKey.AppendMessage does, nil for an ID of another service.
func packMessageID(id string) []byte {
	key, index, ok := campaign.ParseMessageID(id)
	if !ok {
		return nil
	}
	return key.AppendMessage(nil, index)
}

func unpackMessageID(packed []byte) string {
	if len(packed) != campaign.MessageSize {
		return ""
	}
	key, index := campaign.UnpackMessage(packed)
	return key.MessageID(index)
}

func readKeptPost(tenant, endpointID string, row Item) delivery.KeptPost {
	at, id := readInstantKey(row)
	return delivery.KeptPost{
		Tenant: tenant, EndpointID: endpointID, WebhookID: id, At: at, Kind: delivery.Kind(getText(row, "kind")),
		MessageID: unpackMessageID(getBinary(row, "messageId")), Attempt: getInt(row, "attempt"), Status: getInt(row, "status"), Code: getText(row, "code"),
		Took: time.Duration(getNumber(row, "took")) * time.Millisecond, Payload: getBinary(row, "payload"),
		Answer: delivery.EndpointAnswer{Text: getText(row, "answer"), Cut: getBool(row, "cut"), NotText: getBool(row, "notText")},
		Entry:  getBinary(row, "entry"), Blob: getText(row, "blob"),
	}
}
