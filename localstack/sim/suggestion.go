package sim

import (
	"slices"
	"time"
)

type suggestion struct {
	Reply  *label  `json:"reply"`
	Action *action `json:"action"`
}

// label is the text that a recipient taps, and the data that the tap returns.
type label struct {
	Text         string `json:"text"`
	PostbackData string `json:"postbackData"`
}

type action struct {
	label

	OpenURL *struct {
		URL             string `json:"url"`
		Application     string `json:"application"`
		WebviewViewMode string `json:"webviewViewMode"`
	} `json:"openUrlAction"`
	Dial *struct {
		PhoneNumber string `json:"phoneNumber"`
	} `json:"dialAction"`
	ViewLocation *struct {
		LatLong *struct {
			Latitude  float64 `json:"latitude"`
			Longitude float64 `json:"longitude"`
		} `json:"latLong"`
		Label string `json:"label"`
		Query string `json:"query"`
	} `json:"viewLocationAction"`
	ShareLocation       *struct{} `json:"shareLocationAction"`
	CreateCalendarEvent *struct {
		StartTime   time.Time `json:"startTime"`
		EndTime     time.Time `json:"endTime"`
		Title       string    `json:"title"`
		Description string    `json:"description"`
	} `json:"createCalendarEventAction"`
}

var (
	applications = []string{"BROWSER", "WEBVIEW"}
	viewModes    = []string{"FULL", "HALF", "TALL"}
)

func checkSuggestions(suggestions []suggestion, limit int) error {
	if len(suggestions) > limit {
		return invalid("More than %d suggestions.", limit)
	}
	for _, s := range suggestions {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

func (s suggestion) label() label {
	if s.Reply != nil {
		return *s.Reply
	}
	return s.Action.label
}

func (s suggestion) check() error {
	if (s.Reply == nil) == (s.Action == nil) {
		return invalid("A suggestion is either a reply or an action.")
	}
	switch l := s.label(); {
	case l.Text == "" || l.PostbackData == "":
		return invalid("A suggestion has a text and postbackData.")
	case longer(l.Text, maxSuggestionText):
		return invalid("A suggestion's text is longer than %d characters.", maxSuggestionText)
	case longer(l.PostbackData, maxPostback):
		return invalid("postbackData is longer than %d characters.", maxPostback)
	case s.Action != nil:
		return s.Action.check()
	}
	return nil
}

func (a action) check() error {
	switch {
	case !oneOf(a.OpenURL != nil, a.Dial != nil, a.ViewLocation != nil, a.ShareLocation != nil, a.CreateCalendarEvent != nil):
		return invalid("An action has exactly one kind.")
	case a.OpenURL != nil:
		return a.checkURL()
	case a.Dial != nil && !e164.MatchString(a.Dial.PhoneNumber):
		return invalid("phoneNumber is not an E.164 number.")
	case a.ViewLocation != nil && (a.ViewLocation.LatLong == nil) == (a.ViewLocation.Query == ""):
		return invalid("viewLocationAction has either latLong or query.")
	case a.CreateCalendarEvent != nil && !a.CreateCalendarEvent.EndTime.After(a.CreateCalendarEvent.StartTime):
		return invalid("endTime is not after startTime.")
	}
	return nil
}

func (a action) checkURL() error {
	switch o := a.OpenURL; {
	case !webURL(o.URL) || longer(o.URL, maxURL):
		return invalid("url is not a URL of at most %d characters.", maxURL)
	case !slices.Contains(applications, o.Application):
		return invalid("application is unknown.")
	case o.Application == "WEBVIEW" && !slices.Contains(viewModes, o.WebviewViewMode):
		return invalid("webviewViewMode is required for a webview.")
	}
	return nil
}
