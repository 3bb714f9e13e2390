package media

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/media/mediafile"
)

// Prober requests files of other hosts.
type Prober struct {
	// HTTP must connect to permitted addresses only and follow no redirects.
	HTTP *http.Client
	// Local permits http URLs of this machine.
	Local bool
}

const probeTimeout = 10 * time.Second // of a request

// NewProber returns a Prober that connects to the public internet, or also to this machine
// if local is set.
func NewProber(local bool) Prober {
	return Prober{HTTP: netguard.Guard{Local: local}.Client(1, probeTimeout), Local: local}
}

const maxRedirects = 3 // of a file of another host

// CheckURL requests a file of another host and returns the file that AddURL then adds. The
// URL of the file is the one after all redirects, because the provider follows none. Only its
// first bytes are read.
func (l *Library) CheckURL(ctx context.Context, tenant, address string) (mediafile.File, error) {
	const maxURL = 500 // bytes, so that a page can list several
	address = strings.TrimSpace(address)
	if len(address) > maxURL {
		return mediafile.File{}, &inputerr.Error{Code: "long", Detail: "the URL is longer than 500 characters"}
	}
	f, err := l.probe(ctx, address)
	f.Tenant, f.Hash, f.CreatedAt = tenant, mediafile.Hash(tenant, f.URL), l.Now()
	return f, err
}

// AddURL adds a checked file of another host.
func (l *Library) AddURL(ctx context.Context, f mediafile.File) error {
	_, err := l.Store.AddMedia(ctx, f)
	if errors.Is(err, campaign.ErrLostRace) {
		return &inputerr.Error{Code: "deleting", Detail: "the same file is being deleted: add it again"}
	}
	return err
}

func (p Prober) probe(ctx context.Context, address string) (mediafile.File, error) {
	for range maxRedirects + 1 {
		u, err := p.permitted(address)
		if err != nil {
			return mediafile.File{}, err
		}
		response, err := p.request(ctx, u)
		if err != nil {
			return mediafile.File{}, err
		}
		f, next, err := p.examine(u, response)
		_ = response.Body.Close()
		if err != nil || next == "" {
			return f, err
		}
		address = next
	}
	return mediafile.File{}, &inputerr.Error{Code: "redirects", Detail: "the URL redirects too often"}
}

// permitted parses a URL, and refuses all but https URLs of public hosts.
func (p Prober) permitted(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err == nil && p.Local && u.Scheme == "http" && netguard.LoopbackHost(u.Hostname()) {
		return u, nil
	}
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, &inputerr.Error{Code: "https", Detail: "give a URL that begins with https://"}
	}
	if port := u.Port(); port != "" && port != "443" && !p.Local {
		return nil, &inputerr.Error{Code: "port", Detail: "give a URL with the default port of https"}
	}
	if netguard.PublicHost(u.Hostname()) || p.Local && netguard.LoopbackHost(u.Hostname()) {
		return u, nil
	}
	return nil, errPrivate
}

var (
	errPrivate     = &inputerr.Error{Code: "private", Detail: "the URL's host is not on the public internet"}
	errUnreachable = &inputerr.Error{Code: "unreachable", Detail: "the URL's host does not answer: check the URL, or try again"}
)

func (p Prober) request(ctx context.Context, u *url.URL) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request a file: %w", err)
	}
	r.Header.Set("Range", "bytes=0-"+strconv.Itoa(headSize-1))
	response, err := p.HTTP.Do(r)
	if errors.Is(err, netguard.ErrRefused) {
		return nil, errPrivate
	}
	if err != nil {
		return nil, errUnreachable
	}
	return response, nil
}

// examine returns the file of a response, or the URL that it redirects to.
func (p Prober) examine(u *url.URL, response *http.Response) (f mediafile.File, next string, err error) {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to, err := response.Location()
		if err != nil {
			return f, "", &inputerr.Error{Code: "status", Detail: "the URL answers without a file"}
		}
		return f, to.String(), nil
	case http.StatusOK, http.StatusPartialContent:
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return f, "", errUnreachable
	default:
		return f, "", &inputerr.Error{Code: "status", Detail: "the URL answers without a file"}
	}
	f, err = p.described(u, response)
	return f, "", err
}

// described returns the file of a response. The provider takes the type from the header, so
// the content must agree with it.
func (p Prober) described(u *url.URL, response *http.Response) (mediafile.File, error) {
	head, err := io.ReadAll(io.LimitReader(response.Body, headSize))
	if err != nil {
		return mediafile.File{}, errUnreachable
	}
	f := mediafile.File{URL: u.String(), Name: nameOf(u.Hostname(), u.Path), Type: kind(head), Size: length(response)}
	declared, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if declared == "image/jpg" {
		declared = "image/jpeg" // the provider accepts both
	}
	switch {
	case !mediafile.Type(f.Type):
		return f, &inputerr.Error{Code: "type", Detail: "the file is not a JPEG, PNG, GIF, MP4 or PDF file"}
	case declared != f.Type:
		return f, &inputerr.Error{Code: "content_type", Detail: "the Content-Type of the response is not the file's type"}
	case f.Size > 0:
		return f, checkSize(f.Size)
	}
	return f, &inputerr.Error{Code: "no_size", Detail: "the response does not state the file's size"}
}

// length returns the size of the whole file, or -1 if the response does not state it.
func length(response *http.Response) int64 {
	if response.StatusCode == http.StatusOK {
		return response.ContentLength
	}
	_, total, _ := strings.Cut(response.Header.Get("Content-Range"), "/")
	n, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

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
