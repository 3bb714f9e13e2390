package lists

import (
	"log/slog"
	"net/http"
	"slices"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/review"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
)

func pathOf(l lists.List) string { return Path + "/" + l.Name }

func filePath(l lists.List, file string) string { return pathOf(l) + "/files/" + file }

// take keeps the file of a form, and leads to its review.
func (s *Pages) take(p *web.Page, l lists.List) error {
	file, err := review.Keep(p, s.Files)
	if fault := web.FaultOf("lists.fault.", err); fault != "" {
		return s.showList(p, http.StatusUnprocessableEntity, l, showPage{Faults: faults{File: fault}})
	}
	if err != nil {
		return err
	}
	return p.Redirect(filePath(l, file))
}

// uploads receives the files that are too large for a form.
func (s *Pages) uploads(l lists.List) upload.Uploads {
	return upload.Uploads{
		Path: pathOf(l) + "/uploads", Faults: "lists.fault.", From: web.MaxFormFile, Origin: s.Origin,
		Begin: func(p *web.Page, f upload.File) (id string, sent []int, err error) {
			return s.Files.Start(p.R.Context(), p.Session.Tenant, f.Size, f.Unfinished)
		},
		ChunkURL: func(p *web.Page, id string, chunk int) (string, error) {
			return s.Files.ChunkURL(p.R.Context(), p.Session.Tenant, id, chunk)
		},
		End: func(p *web.Page, id string) (upload.Ended, error) {
			file, err := s.Files.Finish(p.R.Context(), p.Session.Tenant, id)
			return upload.Ended{Path: filePath(l, file)}, err
		},
	}
}

// fileReview is what a file would change.
type fileReview struct {
	lists.List
	review.Numbers

	On int // numbers of the list now
}

// Gone returns how many numbers of the list the file does not have.
func (v fileReview) Gone() int { return v.On - v.Known }

func (s *Pages) review(p *web.Page, l lists.List) error {
	v, err := s.read(p, l)
	if err != nil {
		return err
	}
	return s.showReview(p, http.StatusOK, v)
}

func (*Pages) showReview(p *web.Page, status int, v fileReview) error {
	status, v.Numbers = v.Answered(status)
	return p.RenderStatus(status, "lists.file_review", "lists_file.html", v)
}

// read reads the file of the path as the request says.
func (s *Pages) read(p *web.Page, l lists.List) (v fileReview, err error) {
	v.List = l
	v.Numbers, err = review.ReadNumbers(p, s.Files, filePath(l, p.R.PathValue("file")), pathOf(l), "lists.one_title")
	if err != nil || !v.Usable() {
		return v, err
	}
	on, err := s.Book.Numbers(p.R.Context(), l)
	v.On, v.Known = len(on), common(v.Content.Numbers, on)
	return v, err
}

// common returns how many numbers of a are in b.
func common(a, b numberset.Set) (n int) {
	for _, number := range a {
		if _, found := slices.BinarySearch(b, number); found {
			n++
		}
	}
	return n
}

// refused downloads the lines that are left out.
func (s *Pages) refused(p *web.Page, l lists.List) error {
	v, err := s.read(p, l)
	if err != nil {
		return err
	}
	return v.Download(p)
}

// modes are the changes that a review offers.
var modes = map[string]func(numberset.Set) lists.Change{
	"add":     func(n numberset.Set) lists.Change { return lists.Change{Add: n} },
	"remove":  func(n numberset.Set) lists.Change { return lists.Change{Remove: n} },
	"replace": func(n numberset.Set) lists.Change { return lists.Change{Replace: true, Add: n} },
}

// apply makes the change that a person chose in the review, once for each form.
func (s *Pages) apply(p *web.Page, l lists.List) error {
	mode := p.Field("mode")
	change, known := modes[mode]
	if !known {
		return web.BadForm()
	}
	if err := web.UseForm(p, "lists.used", pathOf(l), "lists.one_title"); err != nil {
		return err
	}
	v, err := s.read(p, l)
	if err != nil {
		return err
	}
	if v.Wrong || len(v.Content.Numbers) == 0 {
		return s.showReview(p, http.StatusUnprocessableEntity, v)
	}
	err = s.change(p, l, change(v.Content.Numbers), "list."+mode)
	if v.Notice = web.FaultOf("lists.fault.", err); v.Notice != "" {
		return s.showReview(p, http.StatusConflict, v)
	}
	if err != nil {
		return err
	}
	if err := s.Files.Delete(p.R.Context(), p.Session.Tenant, v.File); err != nil { // the bucket deletes it later
		slog.WarnContext(p.R.Context(), "file of a list not deleted", "error", err)
	}
	n := map[string]int{"add": v.New(), "remove": v.Known, "replace": len(v.Content.Numbers)}[mode]
	return p.Done(pathOf(l), p.KeyFor("lists.done."+mode, n), p.Number(n))
}
