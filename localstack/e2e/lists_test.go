package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/internal/account"
)

const listsPath = "/api/v1/external/lists"

// list is an answer about a list.
type list struct {
	reply

	Name    string
	Numbers int
	Exact   bool
}

// list sends a request about a list.
func (c *client) list(method, name string, body any, want int) list {
	c.t.Helper()
	text, err := json.Marshal(body)
	must(c.t, err)
	if body == nil {
		text = nil
	}
	got := list{reply: c.do(method, listsPath+name, text, "Authorization", "Bearer "+c.token(), "Content-Type", "application/json")}
	if got.status != want {
		c.t.Fatalf("%s %s answered %d %s", method, name, got.status, got.body)
	}
	if want == http.StatusOK {
		must(c.t, json.Unmarshal(got.body, &got))
	}
	return got
}

// A message to a number on a list is accepted, and ends as suppressed with the name of the list. The others are sent.
func TestLists(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().ownCredential(account.Scopes...).receiveEvents()
	hook := c.receiver("message.failed")
	all := messages(4)
	phone := func(i int) string { return all[i]["phone"].(string) }
	saved := c.list(http.MethodPut, "/nao-me-ligue", fields{"reason": "lei 17.334", "numbers": []string{phone(0), phone(1)}}, http.StatusOK)
	if saved.Name != "nao-me-ligue" || saved.Numbers != 2 || !saved.Exact {
		t.Errorf("the saved list is %s", saved.body)
	}
	c.list(http.MethodPost, "/nao-me-ligue", fields{"add": []string{phone(2)}, "remove": []string{phone(1)}}, http.StatusOK)
	c.list(http.MethodPut, "/other-area", fields{"reason": "r", "areaCodes": []int{99}, "numbers": []string{phone(1), phone(3)}}, http.StatusOK)
	call := c.call(all)
	dry := c.do(http.MethodPost, dispatchPath+"?dryRun=true", jsonOf(t, call), "Authorization", "Bearer "+c.token(), "Content-Type", "application/json")
	var said struct {
		Suppressed []struct {
			List     string
			Messages int
		}
	}
	must(t, json.Unmarshal(dry.body, &said))
	if len(said.Suppressed) != 1 || said.Suppressed[0].List != "nao-me-ligue" || said.Suppressed[0].Messages != 2 {
		t.Errorf("the dry run says %s", dry.body)
	}
	c.accept(call)
	sent := []fields{all[1], all[3]}
	c.eventually(3*time.Minute, "sent", func() bool { return c.sentOnce(sent) })
	c.eventually(3*time.Minute, "ended", func() bool { return c.read(call).Counts["failed"] == 2 })
	for _, i := range []int{0, 2} {
		if got := c.atProvider(all)[phone(i)]; len(got) > 0 {
			t.Errorf("message %d was sent", i)
		}
	}
	var page struct {
		Messages []struct{ Phone, Status, Code, List string }
	}
	c.fetch(campaignPath(call)+"/messages", &page)
	for _, m := range page.Messages {
		held := m.Phone == phone(0) || m.Phone == phone(2)
		if held != (m.Status == "failed" && m.Code == "suppressed" && m.List == "nao-me-ligue") {
			t.Errorf("the read-back says %+v", m)
		}
	}
	c.eventually(3*time.Minute, "webhooks", func() bool { return hook.kinds()["message.failed"] == 2 })
	c.list(http.MethodDelete, "/nao-me-ligue", nil, http.StatusNoContent)
	c.list(http.MethodGet, "/nao-me-ligue", nil, http.StatusNotFound)
	c.list(http.MethodGet, "/other-area", nil, http.StatusOK)
	again := c.call(messages(1))
	again["messages"].([]fields)[0]["phone"] = phone(0)
	c.accept(again)
	c.eventually(3*time.Minute, "sent after the deletion", func() bool { return c.sentOnce(all[:1]) })
	c.fetch(campaignPath(call)+"/messages?status=failed", &page)
	if len(page.Messages) == 0 || page.Messages[0].List != "nao-me-ligue" {
		t.Errorf("after the deletion the read-back says %+v", page.Messages)
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return text
}

// Sweep deletes segments that no list names any more, and keeps the others.
func TestLists_UnusedSegments(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().ownCredential(account.Scopes...)
	c.list(http.MethodPut, "/a", fields{"reason": "r", "numbers": []string{"+5511987650001"}}, http.StatusOK)
	c.list(http.MethodPut, "/a", fields{"reason": "r", "numbers": []string{"+5511987650002"}}, http.StatusOK)
	_, err := lambda.NewFromConfig(c.env.AWS()).Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(c.env["SWEEP_FUNCTION"]), Payload: []byte(`{"unusedSegments":true}`),
	})
	must(t, err)
	if got := c.list(http.MethodGet, "/a", nil, http.StatusOK); got.Numbers != 1 {
		t.Errorf("the list is %s", got.body)
	}
}
