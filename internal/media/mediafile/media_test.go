package mediafile_test

import (
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/media/mediafile"
)

// The spelling of a link does not hide which uploaded file it shows.
func TestUploadedMedia(t *testing.T) {
	t.Parallel()
	const base = "https://files.example"
	hash := strings.Repeat("0a", 32)
	name := hash + ".jpg"
	for address, want := range map[string]struct {
		hash string
		own  bool
	}{
		base + "/media/" + name:                             {hash, true},
		base + "/media/" + hash + "-t1.jpg":                 {hash, true},
		base + "/media/" + name + "?a=/..":                  {hash, true},
		"HTTPS://Files.Example/media/" + name:               {hash, true},
		"https://files.example:443/media/" + name:           {hash, true},
		"https://files.example./media/" + name:              {hash, true},
		base + "/%6dedi%61/%30" + name[1:]:                  {hash, true},
		base + "/a/../media//./" + name:                     {hash, true},
		base + "/media/{{file}}":                            {"", true},
		base + "/media/other.jpg":                           {"", true},
		base + "/uploads/" + name:                           {"", false},
		"https://files.example:8443/media/" + name:          {"", false},
		"https://other.example/media/" + name:               {"", false},
		"https://files.example.other.example/media/" + name: {"", false},
		"https://{{host}}/media/" + name:                    {"", false},
		"https://other.example/?" + base + "/media/" + name: {"", false},
	} {
		if got, own := mediafile.Uploaded(base, address); got != want.hash || own != want.own {
			t.Errorf("%s: %q, %t, want %q, %t", address, got, own, want.hash, want.own)
		}
	}
	if _, own := mediafile.Uploaded("", "/media/"+name); own {
		t.Error("without a base, a URL is own")
	}
	if got, own := mediafile.Uploaded("http://127.0.0.1:4566/bucket", "http://127.0.0.1:4566/bucket/%6dedia/"+name); got != hash || !own {
		t.Errorf("of a local stack: %q, %t", got, own)
	}
}

// The uploads of one content have links of their own.
func TestMediaFile_At(t *testing.T) {
	t.Parallel()
	const base = "https://files.example"
	hash := strings.Repeat("0a", 32)
	first := mediafile.File{Hash: hash, Object: "first", Type: "image/png", Thumbnail: true}
	second := first
	second.Object = "second"
	for _, link := range []string{first.Link(base), first.ThumbnailLink(base), base + "/%6dedia/" + hash + "-first.png"} {
		found, own := mediafile.Uploaded(base, link)
		if found != hash || !own || !first.At(link) || second.At(link) {
			t.Errorf("%s: the hash %q, at the first %t, at the second %t", link, found, first.At(link), second.At(link))
		}
	}
}

// Neither its spelling nor a former domain hides that a template shows a file.
func TestMediaFile_ShownBy(t *testing.T) {
	t.Parallel()
	file := mediafile.File{Hash: strings.Repeat("0a", 32), Type: "image/jpeg"}
	for address, want := range map[string]bool{
		file.Link("https://files.example"):                                 true,
		file.Link("https://former.example"):                                true,
		"https://former.example/%6dedi%61/%30" + file.Hash[1:] + "-t1.jpg": true,
		"https://former.example/media/" + strings.Repeat("0b", 32):         false,
	} {
		shows := campaign.Template{Content: content.Content{File: &content.File{URL: address}}}
		if got := file.ShownBy(shows); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
