package web

import "slices"

// Tab is a link of the tabs above a page.
type Tab struct {
	Path    string
	Key     string // of its text
	Current bool
	N       int // things that wait there, 0 if there are none, or if the page has not read them
}

const draftsTab = Root + "/drafts" // authors see it

// CampaignTabs returns the tabs of the lists about campaigns, none on other pages.
func (p *Page) CampaignTabs() []Tab {
	tabs := []Tab{
		{Path: Root + "/campaigns", Key: "ui.campaigns"},
		{Path: draftsTab, Key: "ui.drafts"},
		{Path: Root + "/submissions", Key: "ui.files"},
		{Path: Root + "/approvals", Key: "ui.approvals"},
		{Path: Root + "/campaigns?tests=1", Key: "ui.tests"},
	}
	here := p.R.URL.Path
	if p.Query("tests") != "" {
		here += "?tests=1"
	}
	if !slices.ContainsFunc(tabs, func(t Tab) bool { return t.Path == here }) {
		return nil
	}
	for i, t := range tabs {
		tabs[i].Current, tabs[i].N = t.Path == here, p.TabCounts[t.Path]
	}
	return slices.DeleteFunc(tabs, func(t Tab) bool { return t.Path == draftsTab && !p.Author() })
}
