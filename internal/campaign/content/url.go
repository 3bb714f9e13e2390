package content

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// urlPlace is what the text of a URL contains before a value.
type urlPlace struct{ query, fragment bool }

func (p *urlPlace) follow(part string) {
	p.query = p.query || strings.Contains(part, "?")
	p.fragment = p.fragment || strings.Contains(part, "#")
}

// escape returns the value as it stands in the URL. open is true for {{+name}}.
func (p *urlPlace) escape(value string, open bool) string {
	switch {
	case open:
		return escaped(value, func(i int) bool { return ofURL(value, i) })
	case p.query && !p.fragment:
		return url.QueryEscape(value)
	}
	return url.PathEscape(value)
}

// ofURL reports whether the byte at i is one that RFC 6570, section 3.2.3, keeps: it is unreserved, reserved, or the
// begin of an escape.
func ofURL(text string, i int) bool {
	c := text[i]
	switch {
	case c >= utf8.RuneSelf:
		return false
	case c == '%':
		return i+2 < len(text) && hexadecimal(text[i+1]) && hexadecimal(text[i+2])
	}
	return letterOrDigit(c) || strings.IndexByte("-._~:/?#[]@!$&'()*+,;=", c) >= 0
}

func letterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func hexadecimal(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// escaped returns a text with the bytes escaped that are not kept.
func escaped(text string, keep func(i int) bool) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; keep(i) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// browserURL returns a URL as a browser requests it: without white space around it, its host in ASCII, and spaces,
// letters with accents and other characters that no URL has escaped. It is a URL only if it was one.
func browserURL(address string) string {
	if !unusual(address) {
		return address
	}
	trimmed := strings.NewReplacer("\t", "", "\n", "").Replace(strings.TrimFunc(address, blankOrControl))
	if trimmed == "" {
		return address
	}
	host, rest := "", trimmed
	if scheme, after, found := strings.Cut(trimmed, "://"); found {
		end := strings.IndexAny(after, `/?#\`)
		if end < 0 {
			end = len(after)
		}
		host, rest = scheme+"://"+asciiHost(after[:end]), after[end:]
	}
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	path, query, hasQuery := strings.Cut(rest, "?")
	path = escapeAll(strings.ReplaceAll(path, `\`, "/"), "\"<>^`{}")
	if hasQuery {
		path += "?" + escapeAll(query, `"<>'`)
	}
	if hasFragment {
		path += "#" + escapeAll(fragment, "\"<>`")
	}
	return host + path
}

// unusual reports whether a URL has characters that a browser changes in some part of it.
func unusual(address string) bool {
	for i := range len(address) {
		if changed[address[i]] {
			return true
		}
	}
	return false
}

// changed are the bytes that a browser changes in some part of a URL.
var changed = func() (all [256]bool) {
	for c := range all {
		all[c] = c <= ' ' || c > '~'
	}
	for _, c := range []byte("\"<>^`{}'\\") {
		all[c] = true
	}
	return all
}()

func blankOrControl(r rune) bool { return r <= ' ' || unicode.IsSpace(r) }

// escapeAll escapes spaces, control characters, what is not ASCII, and the bytes of others.
func escapeAll(text, others string) string {
	return escaped(text, func(i int) bool {
		c := text[i]
		return c > ' ' && c < '\x7f' && strings.IndexByte(others, c) < 0
	})
}

// maxHost is more bytes than a host has that the domain name system knows: in ASCII it has at most 253.
const maxHost = 1000

// asciiHost returns a host as the domain name system knows it, "xn--maa-2la.example" for "maçã.example". A host that
// cannot be written so is returned as it is.
func asciiHost(host string) string {
	if len(host) > maxHost || strings.IndexFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return host
	}
	labels := strings.Split(norm.NFKC.String(strings.ToLower(norm.NFKC.String(host))), ".")
	for i, label := range labels {
		name, port, hasPort := strings.Cut(label, ":")
		encoded, ok := asciiLabel(name)
		if !ok {
			return host
		}
		if labels[i] = encoded; hasPort {
			labels[i] += ":" + port
		}
	}
	return strings.Join(labels, ".")
}

func asciiLabel(name string) (ascii string, ok bool) {
	foreign := false
	for _, r := range name {
		foreign = foreign || r >= utf8.RuneSelf
		if r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return "", false
		}
	}
	if !foreign {
		return name, true
	}
	return "xn--" + punycode(name), true
}
