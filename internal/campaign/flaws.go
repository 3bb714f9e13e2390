package campaign

import (
	"cmp"
	"fmt"

	"campaign-dispatch/internal/campaign/content"
)

// FlawDetail returns a sentence about a flaw, without its place.
func FlawDetail(f content.Flaw) string {
	switch f.Code {
	case content.FlawBlank:
		if f.Part == content.PartText {
			return "the template has no text, card, carousel or file"
		}
		return cmp.Or(flawBlanks[f.Part], "must not be blank")
	case content.FlawSeveral:
		return "the template has more than one of text, card, carousel and file"
	case content.FlawTooLong:
		if f.Most == 0 {
			return "the content exceeds the provider's limit of 250 kB"
		}
		return fmt.Sprintf("has %d characters without its variables, at most %d are allowed", f.Have, f.Most)
	case content.FlawTooWordy:
		return fmt.Sprintf("has %d characters with the names of its variables, at most %d are allowed", f.Have, f.Most)
	case content.FlawTooMany:
		return fmt.Sprintf("there are %d %s, at most %d are allowed", f.Have, flawPlurals[f.Part], f.Most)
	case content.FlawTooFew:
		return fmt.Sprintf("there are %d %s, at least %d are required", f.Have, flawPlurals[f.Part], f.Most)
	case content.FlawBraces:
		return "contains {{ or }} outside a variable: write {{name}} with letters, digits and . _ - only"
	case content.FlawNotHTTPS:
		return "must be a URL that starts with https://"
	case content.FlawHost:
		return "the scheme and the host of a URL cannot contain a variable, unless the whole URL is one: {{url}}"
	case content.FlawPlus:
		return "{{+name}} is for URLs only: write {{name}}"
	case content.FlawControl:
		return "contains a control character"
	case content.FlawEncoding:
		return "is not valid UTF-8"
	case content.FlawUnknown:
		return "must be one of: " + cmp.Or(flawValues[f.Part], "the known values")
	case content.FlawMixed:
		return "the media of all cards must have one height"
	case content.FlawInvalid:
		return cmp.Or(flawInvalids[f.Part], "is invalid")
	case content.FlawUnusable:
		return f.Detail
	}
	return "cannot be used"
}

var flawBlanks = map[content.Part]string{
	content.PartCard:     "must have a title, a description or media",
	content.PartLocation: "must have latitude and longitude, or query",
}

// flawValues has the values of the parts with listed values.
var flawValues = map[content.Part]string{
	PartTraffic:            "promotion, transaction, authentication, serviceRequest",
	content.PartHeight:     "short, medium, tall",
	content.PartWidth:      "small, medium",
	content.PartWebview:    "full, half, tall",
	content.PartSuggestion: "reply, openUrl, dial, showLocation, requestLocation, calendarEvent",
}

var flawInvalids = map[content.Part]string{
	content.PartCard:          "must not be horizontal in a carousel",
	content.PartHeight:        "tall media need a carousel of medium width",
	content.PartPhone:         "must be + and 7 to 15 digits, such as +551133334444",
	content.PartLocation:      "latitude must be from -90 to 90, longitude from -180 to 180",
	content.PartEventDuration: "must be later than start, and start is required",
}

var flawPlurals = map[content.Part]string{
	content.PartCards: "cards", content.PartSuggestion: "suggestions", PartVariables: "variables",
}
