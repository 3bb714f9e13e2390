package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

const deadEndpoint = "dead"

// owing has a delivery for every task and stores nothing.
type owing struct{ webhook.Store }

func (owing) Delivery(_ context.Context, t delivery.NotifyTask) (delivery.Delivery, error) {
	return delivery.Delivery{ID: t.DeliveryID, Tenant: t.Tenant, EndpointID: t.EndpointID, Kind: delivery.KindOptedOut, Blob: "blob", ExpiresAt: start.Add(time.Hour)}, nil
}

func (owing) SaveDelivery(context.Context, delivery.Delivery, delivery.Delivery) (bool, error) {
	return true, nil
}

func (owing) ClaimDelivery(context.Context, delivery.Delivery, time.Time) (bool, time.Time, error) {
	return true, time.Time{}, nil
}
func (owing) DeleteDelivery(context.Context, delivery.NotifyTask) error { return nil }

// circuits stores the circuits of any number of endpoints.
type circuits struct {
	webhook.Endpoints

	opened atomic.Int32
}

func (*circuits) Endpoint(_ context.Context, tenant, id string) (delivery.Endpoint, error) {
	return delivery.Endpoint{ID: id, Tenant: tenant, URL: "https://" + id + ".example", Secret: newSecret()}, nil
}

func (*circuits) Circuit(_ context.Context, tenant, id string) (delivery.Circuit, error) {
	return delivery.Circuit{Tenant: tenant, EndpointID: id}, nil
}

func (c *circuits) SaveCircuit(context.Context, delivery.Circuit) (bool, error) {
	c.opened.Add(1)
	return true, nil
}
func (*circuits) RecordFailure(context.Context, delivery.Failure) error { return nil }

type contents struct{ webhook.Blobs }

func (contents) Get(context.Context, string) ([]byte, error) { return []byte(`{"eventId":"1"}`), nil }

type nowhere struct{}

func (nowhere) Send(context.Context, string, []byte, time.Duration) error  { return nil }
func (*circuits) KeepPost(context.Context, delivery.KeptPost) error        { return nil }
func (*circuits) CountPosts(string, string, time.Time, delivery.PostCount) {}
func (*circuits) WritePosts(context.Context, time.Time) error              { return nil }

// oneDown responds with 500 for one endpoint.
type oneDown struct{}

func (oneDown) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if r.URL.Host == deadEndpoint+".example" {
		status = http.StatusInternalServerError
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
}

// Three consecutive failures within a minute open an endpoint's circuit, however many other
// endpoints the process posts to: 300 tenants have 600.
func TestHandle_OneOfManyEndpointsFails(t *testing.T) {
	t.Parallel()
	const endpoints, failures = 600, 3
	at := &circuits{}
	n := &webhook.Notifier{
		Store: owing{}, Endpoints: at, Blobs: contents{}, Notify: nowhere{},
		HTTP: &http.Client{Transport: oneDown{}}, Now: func() time.Time { return start }, Jitter: func() float64 { return 0 },
	}
	task := func(endpoint string) delivery.NotifyTask {
		return delivery.NotifyTask{DeliveryID: "notice", Tenant: "tenant", EndpointID: endpoint}
	}
	for range failures {
		tasks := []delivery.NotifyTask{task(deadEndpoint)}
		for i := range endpoints {
			tasks = append(tasks, task(fmt.Sprintf("e%d", i)))
		}
		for i, err := range n.Handle(t.Context(), tasks) {
			if err != nil {
				t.Fatalf("task %d: %v", i, err)
			}
		}
	}
	if got := at.opened.Load(); got != 1 {
		t.Errorf("%d circuits were opened, want that of the endpoint that fails", got)
	}
}
