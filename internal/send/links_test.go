package send_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/send/outgoing"
)

// Suggestions that count clicks get short links where the stack has an address for them and
// the batch counts clicks. All other URLs are sent as rendered.
func TestSender_Links(t *testing.T) {
	t.Parallel()
	const rendered, other = "https://loja.example/?n=0", "https://loja.example/0"
	key := []byte("sixteen bytes...")
	for name, test := range map[string]struct {
		linkURL string
		counts  bool
		key     []byte
		counted bool
	}{
		"with links":                 {"https://l.example", true, key, true},
		"no address for links":       {"", true, key, false},
		"accepted without links":     {"https://l.example", false, key, false},
		"accepted before links were": {"https://l.example", false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(1)
				g.suggestions = []content.Suggestion{
					{Kind: content.Reply, Text: "Sim"},
					{Kind: content.OpenURL, Text: "Ver", URL: "https://loja.example/?n={{nome}}", CountClicks: true},
					{Kind: content.OpenURL, Text: "Loja", URL: "https://loja.example/{{nome}}"},
				}
				g.batch.TapKey, g.batch.CountsClicks = test.key, test.counts
				var urls []string
				g.provider = func(d outgoing.Message, _ int) error {
					for _, s := range d.Content.Suggestions {
						urls = append(urls, s.URL)
					}
					return nil
				}
				sender := g.sender()
				sender.LinkURL = test.linkURL

				if errs := sender.Handle(t.Context(), g.frames()); errors.Join(errs...) != nil {
					t.Fatal(errs)
				}

				want := []string{"", rendered, other}
				if test.counted {
					want[1] = "https://l.example/l/" + reaction.LinkToken(g.batch, 0, 2)
				}
				if diff := cmp.Diff(want, urls); diff != "" {
					t.Errorf("URLs (-want +got):\n%s", diff)
				}
			})
		})
	}
}
