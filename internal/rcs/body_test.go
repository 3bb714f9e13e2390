package rcs_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/send/outgoing"
)

var update = flag.Bool("update", false, "write the golden files")

// suggestions has one of each kind, by the name of its golden files.
var suggestions = map[string]content.Suggestion{
	"reply":            {Kind: content.Reply, Text: "Quero"},
	"browser":          {Kind: content.OpenURL, Text: "Ver", URL: "https://loja.example/1"},
	"webview":          {Kind: content.OpenURL, Text: "Ver", URL: "https://loja.example/1", Webview: content.TallWebview},
	"dial":             {Kind: content.Dial, Text: "Ligar", Phone: "+551133334444"},
	"location":         {Kind: content.ShowLocation, Text: "Mapa", Location: &content.Location{Latitude: -23.55, Longitude: -46.63, Label: "Loja"}},
	"search":           {Kind: content.ShowLocation, Text: "Mapa", Location: &content.Location{Query: "Loja Demo"}},
	"request-location": {Kind: content.RequestLocation, Text: "Onde estou"},
	"event": {Kind: content.CalendarEvent, Text: "Agendar", Event: &content.Event{
		Title: "Feira", Description: "No centro", Start: time.Date(2026, 12, 1, 13, 0, 0, 0, time.UTC), End: time.Date(2026, 12, 1, 15, 0, 0, 0, time.UTC),
	}},
}

// forms build a content of each form around a suggestion.
var forms = map[string]func(content.Suggestion) content.Content{
	"text": func(s content.Suggestion) content.Content {
		return content.Content{Text: "Olá", Suggestions: []content.Suggestion{s}}
	},
	"card": func(s content.Suggestion) content.Content {
		card := cardWith(s)
		return content.Content{Card: &card}
	},
	"horizontal": func(s content.Suggestion) content.Content {
		card := cardWith(s)
		card.Horizontal, card.MediaRight, card.Media.ThumbnailURL = true, true, "https://loja.example/a-small.png"
		card.Media.ContentDescription = "Um tênis azul"
		return content.Content{Card: &card}
	},
	"carousel": func(s content.Suggestion) content.Content {
		return content.Content{
			Carousel:    &content.Carousel{Width: content.SmallWidth, Cards: []content.Card{cardWith(s), cardWith(s)}},
			Suggestions: []content.Suggestion{s},
		}
	},
	"file": func(s content.Suggestion) content.Content {
		return content.Content{File: &content.File{URL: "https://loja.example/a.pdf"}, Suggestions: []content.Suggestion{s}}
	},
}

func cardWith(s content.Suggestion) content.Card {
	return content.Card{
		Title: "Oferta", Description: "Só <hoje>", Media: &content.Media{URL: "https://loja.example/a.png", Height: content.Short},
		Suggestions: []content.Suggestion{s},
	}
}

// TestSend_Golden compares the body of each form with each kind of suggestion with its file.
// The simulator, which checks the provider's rules, accepts each.
func TestSend_Golden(t *testing.T) {
	t.Parallel()
	n := 0
	for form, build := range forms {
		for kind, s := range suggestions {
			n++
			id := fmt.Sprintf("6f0c9f0e-1b2c-4d3e-8f40-%012d", n)
			t.Run(form+"-"+kind, func(t *testing.T) {
				t.Parallel()
				got := bodyOf(t, outgoing.Message{ID: id, Phone: phone, Content: build(s), Traffic: campaign.Transaction, TTL: time.Hour})
				compareGolden(t, filepath.Join("testdata", "bodies", form+"-"+kind+".json"), got)
			})
		}
	}
}

// The postback data of a message's suggestions is numbered as a reader sees them: first those
// of the cards.
func TestSend_Postbacks(t *testing.T) {
	t.Parallel()
	message := outgoing.Message{
		ID: "6f0c9f0e-1b2c-4d3e-8f40-100000000000", Phone: phone, Content: forms["carousel"](suggestions["dial"]), TTL: time.Hour,
		Postback: func(n int) string { return fmt.Sprint("postback ", n) },
	}
	compareGolden(t, filepath.Join("testdata", "bodies", "carousel-postbacks.json"), bodyOf(t, message))
}

// bodyOf sends a message and returns the indented body that the provider accepted.
func bodyOf(t *testing.T, m outgoing.Message) []byte {
	t.Helper()
	p := newProvider(t)
	var body bytes.Buffer
	capture := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/agentMessages") {
			r.Body = io.NopCloser(io.TeeReader(r.Body, &body))
		}
		p.sim.Load().ServeHTTP(w, r)
	}))
	defer capture.Close()
	p.client.URL = capture.URL
	if err := p.client.Send(t.Context(), agent, m); err != nil {
		t.Fatalf("the provider refused %s: %v", body.Bytes(), err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(indented.Bytes(), '\n')
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
