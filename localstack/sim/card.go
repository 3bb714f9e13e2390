package sim

import (
	"net/url"
	"slices"
)

type standaloneCard struct {
	CardOrientation         string      `json:"cardOrientation"`
	ThumbnailImageAlignment string      `json:"thumbnailImageAlignment"`
	CardContent             cardContent `json:"cardContent"`
}

type carouselCard struct {
	CardWidth    string        `json:"cardWidth"`
	CardContents []cardContent `json:"cardContents"`
}

type cardContent struct {
	Title       string       `json:"title"`
	Description string       `json:"description"`
	Media       *media       `json:"media"`
	Suggestions []suggestion `json:"suggestions"`
}

type media struct {
	Height      string      `json:"height"`
	ContentInfo contentInfo `json:"contentInfo"`
}

type contentInfo struct {
	FileURL      string `json:"fileUrl"`
	ThumbnailURL string `json:"thumbnailUrl"`
	ForceRefresh bool   `json:"forceRefresh"`
}

var (
	orientations = []string{"HORIZONTAL", "VERTICAL"}
	alignments   = []string{"LEFT", "RIGHT"}
	widths       = []string{"SMALL", "MEDIUM"}
	heights      = []string{"SHORT", "MEDIUM", "TALL"}
)

func (c standaloneCard) check() error {
	switch {
	case !slices.Contains(orientations, c.CardOrientation):
		return invalid("cardOrientation is required.")
	case c.CardOrientation == "HORIZONTAL" && !slices.Contains(alignments, c.ThumbnailImageAlignment):
		return invalid("thumbnailImageAlignment is required for a horizontal card.")
	}
	return c.CardContent.check()
}

func (c carouselCard) check() error {
	switch n := len(c.CardContents); {
	case n < minCards || n > maxCards:
		return invalid("A carousel has %d to %d cards.", minCards, maxCards)
	case !slices.Contains(widths, c.CardWidth):
		return invalid("cardWidth is required.")
	}
	for _, card := range c.CardContents {
		if c.CardWidth == "SMALL" && card.Media != nil && card.Media.Height == "TALL" {
			return invalid("Cards of the width SMALL have no media of the height TALL.")
		}
		if err := card.check(); err != nil {
			return err
		}
	}
	return nil
}

func (c cardContent) check() error {
	switch {
	case c.Title == "" && c.Description == "" && c.Media == nil:
		return invalid("cardContent is empty.")
	case longer(c.Title, maxTitle):
		return invalid("title is longer than %d characters.", maxTitle)
	case longer(c.Description, maxDescription):
		return invalid("description is longer than %d characters.", maxDescription)
	case c.Media != nil && !slices.Contains(heights, c.Media.Height):
		return invalid("media height is required.")
	}
	if c.Media != nil {
		if err := c.Media.ContentInfo.check(); err != nil {
			return err
		}
	}
	return checkSuggestions(c.Suggestions, maxCardSuggestions)
}

func (c contentInfo) check() error {
	if !webURL(c.FileURL) {
		return invalid("fileUrl is not a URL.")
	}
	if c.ThumbnailURL != "" && !webURL(c.ThumbnailURL) {
		return invalid("thumbnailUrl is not a URL.")
	}
	return nil
}

func webURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}
