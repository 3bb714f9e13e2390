// Command plainpage is a Lambda function that always renders the same page, of
// rows that it reads by HTTP from itself. The dashboard's pages are compared with it.
package main

import (
	"context"
	"encoding/json"
	"html/template"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/localstack/httpjson"
)

// A page makes some calls, and shows the rows of all.
const calls, rowsPerCall = 4, 25

// row is what a call returns and the page shows.
type row struct {
	ID, Name, State string
	Sent, Read      int
}

var page = template.Must(template.New("").Parse(`<!doctype html><title>Campaigns</title><table>
{{range .}}<tr><td><a href="/campaigns/{{.ID}}?name={{.Name}}">{{.Name}}</a><td class="{{.State}}">{{.State}}<td>{{.Sent}}<td>{{.Read}}
{{end}}</table>`))

func main() {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = http.Serve(listener, http.HandlerFunc(serveRows)) }() //nolint:gosec // for itself alone
	address := "http://" + listener.Addr().String()
	lambda.Start(func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (answer events.APIGatewayV2HTTPResponse, err error) {
		var all []row
		for range calls {
			var rows []row
			if err := httpjson.Get(ctx, address, &rows); err != nil {
				return answer, err
			}
			all = append(all, rows...)
		}
		var html strings.Builder
		err = page.Execute(&html, all)
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusOK, Body: html.String()}, err
	})
}

func serveRows(w http.ResponseWriter, _ *http.Request) {
	rows := make([]row, rowsPerCall)
	for i := range rows {
		rows[i] = row{ID: strconv.Itoa(i), Name: "Natal & Ano Novo " + strconv.Itoa(i), State: "sending", Sent: i * 1000, Read: i}
	}
	_ = json.NewEncoder(w).Encode(rows)
}
