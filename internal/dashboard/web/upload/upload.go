// Package upload lets browsers send a file in chunks directly to a bucket. Its script makes three
// kinds of calls: the start, which also continues an unfinished upload of the same file, one for
// the URL of each chunk, and the finish.
package upload

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"strconv"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

//go:embed *.html texts.json
var files embed.FS

//go:embed upload.js
var script []byte

// Area returns the field of an upload, upload.html, and the texts.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"upload"}} }

// Script serves the script.
type Script struct{}

// Register serves the script at a path that changes with it.
func (Script) Register(ui *web.UI, mux *http.ServeMux) {
	ui.WithoutSession(mux, "GET "+web.Root+"/upload/{hash}/upload.js", serveScript)
}

func serveScript(p *web.Page) error {
	if p.R.PathValue("hash") != web.HashOf(script) {
		return campaign.ErrNotFound
	}
	return p.Immutable("text/javascript; charset=utf-8", script)
}

// File is what a browser says about a file.
type File struct {
	Name     string
	Size     int64
	Modified string // time of its last change
	// Unfinished is the ID of the upload of the same file that the browser did not finish, or "".
	Unfinished string
}

// Uploads answers the script's calls. Each error that is a *web.Refusal, is a *inputerr.Error or
// wraps campaign.ErrNotFound is shown to the person in words.
type Uploads struct {
	Path   string // of the start; areas register the calls below it
	Faults string // start of the keys of the texts of a *inputerr.Error
	From   int64  // see web.Upload
	// Origin returns the origin to which browsers send chunks.
	Origin func(ctx context.Context) (string, error)
	// Begin starts an upload or continues it. sent are the numbers of the chunks that were sent.
	Begin    func(p *web.Page, f File) (id string, sent []int, err error)
	ChunkURL func(p *web.Page, id string, chunk int) (string, error)
	End      func(p *web.Page, id string) (Ended, error)
}

// Ended is what follows an upload: a page, or the link of the file.
type Ended struct {
	Path string `json:"path,omitempty"`
	Link string `json:"link,omitempty"`
}

// Field returns the data of the field, and allows the page to upload.
func (u Uploads) Field(p *web.Page) (web.Upload, error) {
	origin, err := u.Origin(p.R.Context())
	if err != nil {
		return web.Upload{}, err
	}
	p.UploadTo(origin)
	return web.Upload{
		Script: web.Root + "/upload/" + web.HashOf(script) + "/upload.js", Path: u.Path, Chunk: port.ChunkSize, From: u.From,
	}, nil
}

type started struct {
	ID   string `json:"id"`
	Sent []int  `json:"sent"`
}

// Start answers the start of an upload.
func (u Uploads) Start(p *web.Page) error {
	size, err := strconv.ParseInt(p.Field("size"), 10, 64)
	if err != nil {
		return u.answer(p, nil, errForm)
	}
	id, sent, err := u.Begin(p, File{Name: p.Field("fileName"), Size: size, Modified: p.Field("modified"), Unfinished: p.Field("id")})
	return u.answer(p, started{id, append([]int{}, sent...)}, err)
}

// Chunk answers with the URL of a chunk. It is signed when the browser needs it, because it is
// valid for 15 minutes.
func (u Uploads) Chunk(p *web.Page) error {
	chunk, err := strconv.Atoi(p.Field("chunk"))
	if err != nil {
		return u.answer(p, nil, errForm)
	}
	address, err := u.ChunkURL(p, p.Field("id"), chunk)
	return u.answer(p, map[string]string{"url": address}, err)
}

// Finish answers the end of an upload whose chunks were sent.
func (u Uploads) Finish(p *web.Page) error {
	ended, err := u.End(p, p.Field("id"))
	return u.answer(p, ended, err)
}

var errForm = &web.Refusal{Key: "ui.bad_form"}

// answer answers with a value, or with the text of an error. It returns an error that is not
// meant for people.
func (u Uploads) answer(p *web.Page, value any, err error) error {
	if err == nil {
		return p.JSON(http.StatusOK, value)
	}
	key, args := u.fault(err)
	if key == "" {
		return err
	}
	return p.JSON(http.StatusUnprocessableEntity, map[string]string{"error": p.T(key, args...)})
}

// fault returns the text of an error that is meant for people.
func (u Uploads) fault(err error) (key string, args []any) {
	if refusal, ok := errors.AsType[*web.Refusal](err); ok {
		return refusal.Key, refusal.Args
	}
	if wrong, ok := errors.AsType[*inputerr.Error](err); ok && wrong.Code == port.CodeIncomplete {
		return "upload.fault.incomplete", nil
	} else if ok {
		return u.Faults + wrong.Code, nil
	}
	if errors.Is(err, campaign.ErrNotFound) {
		return "upload.fault.gone", nil
	}
	return "", nil
}
