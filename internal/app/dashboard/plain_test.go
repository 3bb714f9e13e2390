package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
)

// plainCosts are what the steps of a campaign cost that has no lists and no hours. They were measured before
// there were sending hours on pages: lists and hours must cost nothing where there are none.
var plainCosts = map[string]string{
	"dry run":  "0 writes, 0 of indexes, 10.5 reads", // a read was added: it counts opt-outs
	"dispatch": "10 writes, 6 of indexes, 8.5 reads",
	"send":     "5 writes, 4 of indexes, 16 reads",
	"outcomes": "8 writes, 7 of indexes, 5 reads", // a removed key of an index counts once
	"campaign": "0 writes, 0 of indexes, 2 reads",
	"page":     "0 writes, 0 of indexes, 5 reads",
	"list":     "1 writes, 0 of indexes, 6.5 reads",
	"overview": "0 writes, 0 of indexes, 19.5 reads", // half a read was added
}

// plainAnswers are the API's answers about it, also of then.
var plainAnswers = map[string]string{
	"dry run": `{"accepted":3,"campaignId":"` + plainID + `","classes":{"basic":3,"single":0},"dryRun":true,"errors":[],` +
		`"feedback":{"invalidPhones":[]},"invalidUrl":{"count":0,"pointers":[]},"rejected":0,"repeatedNumbers":0,"status":"sending",` +
		`"suppressed":[],"textTooLong":{"count":0,"pointers":[]},"unknownNames":{"count":0,"pointers":[]},"valid":true,` +
		`"withheld":[]}`, // withheld was added
	"dispatch": `{"accepted":3,"campaignId":"` + plainID + `","feedback":{"invalidPhones":[]},"rejected":0,"status":"sending"}`,
	"campaign": `{"accepted":3,"batches":[{"accepted":3,"acceptedAt":"2037-11-23T15:00:00Z","counts":` + threeDelivered +
		`,"rejected":0,"status":"completed"}],"campaignId":"` + plainID + `","counts":` + threeDelivered +
		`,"createdAt":"2037-11-23T15:00:00Z","name":"Natal","rejected":0,"status":"completed"}`,
}

const threeDelivered = `{"delivered":3,"expired":0,"failed":0,"pending":0,"read":0,"revoked":0,"sent":0,"stopped":0}`

// A campaign without lists and hours has the answers and costs the units that it had before there were any.
func TestPlainCampaign(t *testing.T) {
	t.Parallel()
	s := newShop(t, campaign.MaxMessages, noon)
	used := s.meter()
	costs, answers := map[string]string{}, map[string]string{}
	for _, step := range []struct {
		name string
		do   func() string
	}{
		{"dry run", func() string { return s.dispatchPlain("?dryRun=true") }},
		{"dispatch", func() string { return s.dispatchPlain("") }},
		{"send", func() string { s.release(); return "" }},
		{"outcomes", func() string {
			s.record(func(string) campaign.Outcome { return campaign.OutcomeDelivered })
			return ""
		}},
		{"campaign", func() string { return s.plainAnswer(http.MethodGet, "/"+plainID, nil) }},
		{"page", func() string { s.SignIn(s.tenant, web.RoleViewer).Get(web.Root + "/campaigns/" + plainID); return "" }},
		{"list", func() string { s.SignIn(s.tenant, web.RoleViewer).Get(web.Root + "/campaigns"); return "" }},
		{"overview", func() string { s.SignIn(s.tenant, web.RoleViewer).Get(web.Root + "/overview"); return "" }},
	} {
		used.Take()
		answer := step.do()
		units := metering.Sum(used.Take())
		costs[step.name] = fmt.Sprintf("%v writes, %v of indexes, %v reads", units.Writes, units.IndexWrites, units.Reads)
		if answer != "" {
			answers[step.name] = answer
		}
	}
	if diff := cmp.Diff(plainCosts, costs); diff != "" {
		t.Errorf("units (-before +now):\n%s", diff)
	}
	for name, want := range plainAnswers {
		if answers[name] != want {
			t.Errorf("%s answers\n%s, want\n%s", name, answers[name], want)
		}
	}
}

const plainID = "0198d3a0-0000-4000-8000-000000000000"

// meter makes the calls of all stores metered.
func (s *shop) meter() *metering.Meter {
	s.t.Helper()
	used := &metering.Meter{Rules: metering.OfService(metering.RowSizes(s.t.Context(), s.client))}
	cfg := stackenv.Load(s.t).AWS()
	s.store.Set(func(tables *dynamo.Tables) { tables.Client = dynamodb.NewFromConfig(cfg, used.AttachTo) })
	return used
}

// dispatchPlain dispatches a campaign to three people by the API.
func (s *shop) dispatchPlain(query string) string {
	s.t.Helper()
	var messages []map[string]any
	for i := range 3 {
		messages = append(messages, map[string]any{"phone": strconv.Itoa(11988000000 + i), "uid": fmt.Sprint("u", i), "vars": map[string]string{"nome": "Ana"}})
	}
	return s.plainAnswer(http.MethodPost, "/dispatch"+query, map[string]any{
		"campaignId": plainID, "name": "Natal", "templateId": s.template, "messages": messages,
	})
}

// plainAnswer returns an answer of the API, with the names of its fields in order, without what differs between runs.
func (s *shop) plainAnswer(method, path string, body any) string {
	s.t.Helper()
	var answer map[string]any
	s.call(method, path, body, &answer)
	if batches, ok := answer["batches"].([]any); ok {
		for _, b := range batches {
			delete(b.(map[string]any), "templateId")
			delete(b.(map[string]any), "batchId")
		}
	}
	text, err := json.Marshal(answer)
	s.must(err)
	return string(text)
}
