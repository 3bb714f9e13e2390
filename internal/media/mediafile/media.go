// Package mediafile has the values of uploaded images and videos.
package mediafile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
)

// SortNewest sorts files, the newest first.
func SortNewest(all []File) {
	slices.SortFunc(all, func(a, b File) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Hash, b.Hash)) })
}

// MaxSize is the provider's maximum size of a file in bytes.
const MaxSize = 100 << 20

// File is a file that a tenant's messages can show: an uploaded file, or a file of
// another host.
type File struct {
	Tenant string
	// Hash identifies the file. It is a hash of the tenant and the content, so that nobody
	// can find out whether another tenant has a file. For a file of another host, it is a
	// hash of the tenant and the URL.
	Hash string
	// Object distinguishes the uploads of the same content, so that the deletion of one leaves the objects of the
	// others. It is "" for files of other hosts.
	Object string
	Name   string
	Type   string // content type
	Size   int64
	Width  int // in pixels, 0 if unknown
	Height int
	// Thumbnail reports whether the service made a thumbnail.
	Thumbnail bool
	// URL is the URL of a file of another host, "" for an uploaded file.
	URL       string
	CreatedAt time.Time
	// Deleting reports that the file is being deleted. No template can show it any more.
	Deleting bool
}

// Prefix is the prefix of the keys of all uploaded files. The objects with this prefix
// are public to those who have the link.
const Prefix = "media/"

// mediaExtensions are the extensions of the content types that can be uploaded.
var mediaExtensions = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/gif": ".gif", "video/mp4": ".mp4", "application/pdf": ".pdf",
}

// Type reports whether messages can show a file of the content type.
func Type(contentType string) bool { return mediaExtensions[contentType] != "" }

// Hash returns the hash of a tenant's file, from the SHA-256 of its content or from
// its URL.
func Hash(tenant, content string) string {
	sum := sha256.Sum256([]byte(tenant + "\n" + content))
	return hex.EncodeToString(sum[:])
}

// Key returns the key of an uploaded file's object.
func (f File) Key() string { return f.name() + mediaExtensions[f.Type] }

// name is what the keys of the file's objects begin with.
func (f File) name() string {
	if f.Object == "" {
		return Prefix + f.Hash
	}
	return Prefix + f.Hash + "-" + f.Object
}

// ThumbnailKey returns the key of the thumbnail's object. The number is the version of the
// code that makes thumbnails: objects never change.
func (f File) ThumbnailKey() string { return f.name() + "-t1.jpg" }

// Link returns the URL of the file for messages. base is the address of uploaded files.
func (f File) Link(base string) string { return cmp.Or(f.URL, base+"/"+f.Key()) }

// ThumbnailLink returns the URL of the thumbnail, or "" if there is none.
func (f File) ThumbnailLink(base string) string {
	if !f.Thumbnail {
		return ""
	}
	return base + "/" + f.ThumbnailKey()
}

// ShownBy reports whether the template shows the file or its thumbnail. The host of an
// uploaded file's link may have changed since the template was saved.
func (f File) ShownBy(t campaign.Template) bool {
	for m := range t.MediaURLs() {
		address := m.URL
		if f.URL == "" && strings.Contains(canonicalURL(address), "/"+Prefix+f.Hash) || f.URL != "" && address == f.URL {
			return true
		}
	}
	return false
}

// At reports whether a link is that of this upload or its thumbnail. The link of a deleted upload of the same content is
// not.
func (f File) At(link string) bool { return strings.Contains(canonicalURL(link), "/"+f.name()) }

var mediaHash = pattern.AtFirstUse(`^[0-9a-f]{64}`)

// Uploaded returns the hash in the link of an uploaded file or its thumbnail. own
// reports whether the URL is one of base, also in another spelling. The hash of another URL
// of base is "".
func Uploaded(base, address string) (hash string, own bool) {
	if base == "" {
		return "", false
	}
	name, own := strings.CutPrefix(address, base+"/"+Prefix)
	if !own {
		name, own = strings.CutPrefix(canonicalURL(address), canonicalURL(base)+"/"+Prefix)
	}
	if !own {
		return "", false
	}
	return mediaHash().FindString(name), true
}

// canonicalURL returns a URL in the spelling in which hosts that serve files read it, without
// its query: "HTTPS://A.example.:443/b/../%63" is https://a.example/c.
func canonicalURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port := u.Port(); port != "" && (u.Scheme != "https" || port != "443") {
		host = net.JoinHostPort(host, port)
	}
	return strings.TrimSuffix(u.Scheme+"://"+host+path.Clean("/"+u.Path), "/")
}

// IsHash reports whether a text has the form of a File's hash.
func IsHash(s string) bool {
	return mediaHash().FindString(s) == s && s != ""
}
