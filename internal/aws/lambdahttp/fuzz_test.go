package lambdahttp_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/httpapi"
)

// FuzzInvoke checks that every event gets a response that API Gateway accepts.
func FuzzInvoke(f *testing.F) {
	f.Add([]byte(`{"version":"2.0","rawPath":"/a%2Fb","rawQueryString":"x=1","headers":{"host":"h","cookie":"a"},"cookies":["b=c"],` +
		`"requestContext":{"domainName":"d","requestId":"r","http":{"method":"POST","sourceIp":"127.0.0.1","protocol":"HTTP/1.1"}},` +
		`"body":"aGk=","isBase64Encoded":true}`))
	f.Add([]byte(`{"rawPath":"%","requestContext":{"http":{"method":"GET"}},"body":"\ud83d\ude00"}`))
	f.Add([]byte("{\"rawPath\":\"\xff\",\"requestContext\":{\"http\":{\"method\":\"GET\"}}}"))
	echo := httpapi.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		body, err := httpapi.Body(r, 1<<10)
		if err != nil {
			return err
		}
		w.Header().Set("X-Seen", httpapi.SourceIP(r)+httpapi.BaseURL(r, "")+r.URL.Query().Get("x"))
		_, err = w.Write(body)
		return err
	})
	mux := http.NewServeMux()
	mux.Handle("/", echo)
	mux.Handle("GET /a/{name}", echo)
	f.Fuzz(func(t *testing.T, event []byte) {
		out, err := lambdahttp.NewHandler(mux).Invoke(t.Context(), event)
		if err != nil {
			return // not an event
		}
		var answer struct {
			StatusCode int `json:"statusCode"`
		}
		if err := json.Unmarshal(out, &answer); err != nil || answer.StatusCode < 200 || answer.StatusCode >= http.StatusInternalServerError {
			t.Errorf("%q is answered with %d, %v", event, answer.StatusCode, err)
		}
	})
}
