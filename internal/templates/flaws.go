package templates

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// maxStored is the maximum size of a content's JSON in bytes. A row of the table has up to
// 400 kB.
const maxStored = 350 << 10

// violations returns the reasons why a template cannot be saved.
func violations(t campaign.Template) (found []httpapi.Violation) {
	found = violationsOf(placedFlaws(t))
	if stored, err := json.Marshal(t.Content); len(found) == 0 && (err != nil || len(stored) > maxStored) {
		detail := fmt.Sprintf("the content has more than %d bytes as JSON", maxStored)
		found = append(found, httpapi.Violation{Code: codes[content.FlawTooLong], Detail: detail})
	}
	return found
}

func violationsOf(flaws []placedFlaw) (found []httpapi.Violation) {
	for _, f := range flaws {
		found = append(found, httpapi.Violation{Pointer: f.pointer(), Code: codes[f.Code], Detail: campaign.FlawDetail(f.Flaw)})
	}
	return found
}

// placed returns the flaws of a template's media.
func placed(t campaign.Template, flaws []content.Flaw) []placedFlaw {
	switch {
	case t.File != nil:
		return placedAt(flaws, "file")
	case t.Card != nil:
		return placedAt(flaws, "card")
	}
	return placedAt(flaws, "")
}

// placedFlaw is a flaw with the object that its place refers to: "card" for a single card,
// "file" for a file, or "".
type placedFlaw struct {
	content.Flaw
	object string
}

// placedFlaws returns the flaws of a template. A place does not say whether a suggestion is
// the card's or the message's, so these are checked apart.
func placedFlaws(t campaign.Template) (all []placedFlaw) {
	switch {
	case t.File != nil:
		return placedAt(t.Flaws(), "file")
	case t.Card == nil:
		return placedAt(t.Flaws(), "")
	}
	below := content.Content{Text: "-", Suggestions: t.Suggestions}
	whole := slices.DeleteFunc(t.Flaws(), func(f content.Flaw) bool { return !ofWhole(f) })
	card := t
	card.Suggestions = nil
	all = append(placedAt(whole, ""), placedAt(slices.DeleteFunc(card.Flaws(), ofWhole), "card")...)
	return append(all, placedAt(slices.DeleteFunc(below.Flaws(), ofWhole), "")...)
}

// ofWhole reports whether a flaw is of the whole template.
func ofWhole(f content.Flaw) bool {
	return slices.Contains([]content.Part{content.PartContent, campaign.PartVariables, campaign.PartName, campaign.PartTraffic}, f.Part)
}

func placedAt(flaws []content.Flaw, object string) (all []placedFlaw) {
	for _, f := range flaws {
		all = append(all, placedFlaw{f, object})
	}
	return all
}

var codes = map[content.FlawCode]string{
	content.FlawBlank: "blank", content.FlawSeveral: "several_contents",
	content.FlawTooLong: "too_long", content.FlawTooWordy: "too_long_with_variables",
	content.FlawTooMany: "too_many", content.FlawTooFew: "too_few",
	content.FlawBraces: "invalid_braces", content.FlawNotHTTPS: "not_https",
	content.FlawControl: "control_character", content.FlawEncoding: "invalid_utf8",
	content.FlawUnknown: "unknown_value", content.FlawMixed: "mixed_heights", content.FlawInvalid: "invalid_value",
	content.FlawUnusable: "unusable_media", content.FlawHost: "variable_in_host", content.FlawPlus: "plus_outside_url",
}

// tokens are the places of parts within the object or the suggestion that has them.
var tokens = map[content.Part][]string{
	content.PartTitle: {"title"}, content.PartDescription: {"description"}, content.PartCard: {},
	content.PartMedia: {"media", "url"}, content.PartThumbnail: {"media", "thumbnailUrl"}, content.PartHeight: {"media", "height"},
	content.PartMediaText: {"media", "contentDescription"},
	content.PartFile:      {"url"}, content.PartSuggestion: {"text"},
	content.PartURL: {"url"}, content.PartWebview: {"webview"}, content.PartPhone: {"phone"},
	content.PartLocation: {"location"}, content.PartLabel: {"location", "label"}, content.PartQuery: {"location", "query"},
	content.PartEvent: {"event"}, content.PartEventTitle: {"event", "title"}, content.PartEventText: {"event", "description"},
	content.PartEventDuration: {"event", "end"},
}

func (f placedFlaw) pointer() string {
	switch {
	case f.Part == content.PartContent, f.Part == campaign.PartVariables, f.Part == content.PartText && f.Code == content.FlawBlank:
		return ""
	case f.Part == content.PartText, f.Part == campaign.PartName, f.Part == campaign.PartTraffic:
		return jsonscan.Pointer(string(f.Part))
	case f.Part == content.PartWidth:
		return "/carousel/width"
	case f.Card == 0 && (f.Part == content.PartCards || f.object == "" && f.Part == content.PartHeight):
		return "/carousel/cards"
	}
	return jsonscan.Pointer(slices.Concat(f.within(), f.last())...)
}

// within returns the place of the object that has the flaw.
func (f placedFlaw) within() (at []string) {
	switch {
	case f.Card > 0:
		at = []string{"carousel", "cards", strconv.Itoa(f.Card - 1)}
	case f.object != "" && (f.object != "file" || f.Suggestion == 0 && f.Part != content.PartSuggestion):
		at = []string{f.object}
	}
	if f.Part == content.PartSuggestion || f.Suggestion > 0 {
		at = append(at, "suggestions")
	}
	if f.Suggestion > 0 {
		at = append(at, strconv.Itoa(f.Suggestion-1))
	}
	return at
}

// last returns the place of the flaw within its object.
func (f placedFlaw) last() []string {
	switch {
	case f.Part == content.PartSuggestion && f.Suggestion == 0:
		return nil
	case f.Part == content.PartSuggestion && f.Code == content.FlawUnknown:
		return []string{"kind"}
	case f.Part == content.PartThumbnail && f.object == "file":
		return []string{"thumbnailUrl"}
	}
	if at, ok := tokens[f.Part]; ok {
		return at
	}
	return []string{string(f.Part)}
}
