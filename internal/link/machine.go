package link

import (
	"net/http"
	"slices"
	"strings"
)

// speculative are the headers of requests that a browser or a previewer makes before a person taps, with the words of
// their values: Sec-Purpose (Fetch standard, section 3.1), and the older Purpose and X-Moz of browsers.
var speculative = map[string][]string{
	"Sec-Purpose": {"prefetch", "prerender", "preview"},
	"Purpose":     {"prefetch", "prerender", "preview"},
	"X-Purpose":   {"prefetch", "prerender", "preview"},
	"X-Moz":       {"prefetch"},
}

// robots are parts of the user agents, in lower case, of programs that fetch links without a person: previewers of
// messengers and social networks, crawlers, and scanners of links.
var robots = []string{
	"googlemessages", "google-pagerenderer", "googlebot", "google-inspectiontool", "googleother", "adsbot-google", "mediapartners-google",
	"feedfetcher", "apis-google", "facebookexternalhit", "facebookcatalog", "facebot", "meta-external", "telegrambot", "twitterbot",
	"slackbot", "slack-imgproxy", "discordbot", "linkedinbot", "skypeuripreview", "pinterestbot", "redditbot", "snap url preview",
	"bingpreview", "bingbot", "applebot", "yandexbot", "duckduckbot", "baiduspider", "bytespider", "petalbot", "amazonbot",
	"iframely", "embedly", "headlesschrome", "phantomjs", "safelinks", "barracuda", "proofpoint", "urlscan", "virustotal",
	"chrome-lighthouse", "ptst/", "ms-office", "zgrab", "paloaltonetworks", "palo alto networks", "cfnetwork/",
}

// programs are how the user agents of programs begin that are no browsers, in lower case: WhatsApp's previewer, apps of phones
// that fetch a preview by themselves, and libraries, with which scanners of links fetch them.
var programs = []string{
	"whatsapp/", "viber/", "dalvik/", "okhttp/", "com.google.android.apps.messaging", "microsoft office/", "google-safety", "ia_archiver", "pingdom",
	"curl/", "wget/", "python", "go-http-client/", "java/", "apache-httpclient/", "axios/", "node", "undici", "libwww-perl/", "ruby", "php", "guzzlehttp/",
	"postmanruntime/",
}

// robotSigns are what user agents of other robots have, and no browser: the address of who runs it, and a name that ends
// in bot, crawler or spider with its version. The phones of CUBOT have no version behind their name.
var robotSigns = []string{"+http", "bot/", "crawler", "spider/", "linkpreview", "link-preview", "link preview"}

// byPerson reports whether a person opened the link: not a HEAD request, not a request ahead of a tap, and no robot.
func byPerson(r *http.Request) bool {
	return r.Method == http.MethodGet && !aheadOfTap(r.Header) && !isRobot(r.UserAgent())
}

func aheadOfTap(h http.Header) bool {
	for name, words := range speculative {
		value := strings.ToLower(strings.Join(h.Values(name), ","))
		if containsAny(value, words) {
			return true
		}
	}
	return false
}

// isRobot reports whether a user agent is of a program.
func isRobot(agent string) bool {
	agent = strings.ToLower(agent)
	begins := func(program string) bool { return strings.HasPrefix(agent, program) }
	return slices.ContainsFunc(programs, begins) || containsAny(agent, robots) || containsAny(agent, robotSigns)
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
