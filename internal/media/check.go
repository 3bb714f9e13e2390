package media

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi/inputerr"
	"campaign-dispatch/internal/media/mediafile"
	"campaign-dispatch/internal/webhook/netguard"
)

// Checker checks the media of templates before they are saved.
type Checker struct {
	Prober

	// URL is the base URL of uploaded files. They were checked before.
	URL string
}

const checkTimeout = 8 * time.Second

// Flaws returns the media that the provider could not fetch, in the order of the content. It
// requests the URLs without variables that the version before did not have, concurrently. A
// local stack, which may have no access to the internet, requests only URLs of its machine.
func (c Checker) Flaws(ctx context.Context, saved, before content.Content) []content.Flaw {
	ctx, stop := context.WithTimeout(ctx, checkTimeout)
	defer stop()
	all := c.toCheck(saved, before)
	whys := make([]*inputerr.Error, len(all))
	var group sync.WaitGroup
	for i, m := range all {
		group.Go(func() { whys[i] = c.why(ctx, m) })
	}
	group.Wait()
	var flaws []content.Flaw
	for i, m := range all {
		if why := whys[i]; why != nil {
			flaws = append(flaws, content.Flaw{Place: m.Place, Part: m.Part, Code: content.FlawUnusable, Why: why.Code, Detail: why.Detail})
		}
	}
	return flaws
}

// toCheck returns the first place of each URL to request.
func (c Checker) toCheck(saved, before content.Content) (all []content.MediaURL) {
	known := map[string]bool{}
	for m := range before.MediaURLs() {
		known[m.URL] = true
	}
	for m := range saved.MediaURLs() {
		_, own := mediafile.Uploaded(c.URL, m.URL)
		if own || known[m.URL] || strings.Contains(m.URL, "{{") || c.Local && !ofThisMachine(m.URL) {
			continue
		}
		known[m.URL] = true
		all = append(all, m)
	}
	return all
}

func ofThisMachine(address string) bool {
	u, err := url.Parse(address)
	return err == nil && netguard.LoopbackHost(u.Hostname())
}

// why returns why the provider could not fetch a file, nil if it can.
func (c Checker) why(ctx context.Context, m content.MediaURL) *inputerr.Error {
	f, err := c.probe(ctx, m.URL)
	if refused, ok := errors.AsType[*inputerr.Error](err); ok {
		return refused
	}
	asked, parseErr := url.Parse(m.URL)
	switch {
	case cmp.Or(err, parseErr) != nil:
		return errUnreachable
	case f.URL != asked.String():
		const detail = "the URL redirects: give the one that it leads to, because the provider follows no redirects"
		return &inputerr.Error{Code: "redirected", Detail: detail}
	case m.Part == content.PartThumbnail && !slices.Contains(thumbnailTypes, f.Type):
		return &inputerr.Error{Code: "thumbnail", Detail: "the file is not a JPEG, PNG or GIF file"}
	}
	return nil
}

var thumbnailTypes = []string{"image/jpeg", "image/png", "image/gif"}
