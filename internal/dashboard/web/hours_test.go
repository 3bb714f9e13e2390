package web_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/reach"
)

// opened shows when groups go.
type opened struct {
	groups    []reach.Group
	holidays  []window.Holiday
	said, now time.Time
}

func (o opened) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/opened", web.RoleViewer, func(p *web.Page) error {
		lines := append(p.Openings(o.groups, o.said, o.now), p.ClosedOn(o.holidays))
		return p.Fragment("opened.html", strings.Join(lines, "|"))
	})
}

var openedFiles = fstest.MapFS{"texts.json": {Data: []byte(`{}`)}, "opened.html": {Data: []byte(`{{.Data}}`)}}

func (o opened) in(t *testing.T, language string) string {
	t.Helper()
	who := webtest.New(t, web.Area{Files: openedFiles}, o, clock).SignIn("acme", web.RoleViewer)
	who.Language = language
	return who.Get(web.Root + "/opened").Text()
}

func TestPage_Openings(t *testing.T) {
	t.Parallel()
	ten := time.Date(2026, 11, 28, 13, 0, 0, 0, time.UTC) // in São Paulo
	o := opened{said: ten, now: ten.Add(-12 * time.Hour), groups: []reach.Group{
		{OpensAt: ten, Zones: []window.Zone{window.SaoPaulo, window.Bahia}, Messages: 8559},
		{OpensAt: ten, Zones: []window.Zone{window.Bahia}, Messages: 2},
		{OpensAt: ten.Add(time.Hour), Zones: []window.Zone{window.Cuiaba, window.Manaus, window.BoaVista}, Messages: 3},
		{OpensAt: ten.Add(2 * time.Hour), Zones: []window.Zone{window.RioBranco, window.Amazonas}, Messages: 1425},
		{OpensAt: ten.Add(50 * time.Hour), Zones: []window.Zone{window.Amazonas}, Messages: 1},
		{OpensAt: ten.Add(-12 * time.Hour), Zones: []window.Zone{window.Recife}, Messages: 4},
		{Zones: []window.Zone{window.Belem}, Messages: 5},
		{Messages: 1},
	}}
	const want = "Horário de Brasília: 8.559, às 10:00|Bahia: 2, às 10:00|Mato Grosso, Manaus e Roraima: 3, às 10:00 de lá|" +
		"Acre e oeste do AM: 1.425, às 10:00 de lá|Oeste do AM: 1, em 30/11 às 10:00 de lá|Pernambuco: 4, na hora|" +
		"Amapá e leste do Pará: 5, sem horário de envio no próximo ano|1 pessoa, no próximo horário dela|"
	if got := o.in(t, "pt-BR"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	const english = "Brasília time: 8,559, at 10:00|Bahia: 2, at 10:00|Mato Grosso, Manaus and Roraima: 3, at 10:00 local time|" +
		"Acre and the west of AM: 1,425, at 10:00 local time|The west of AM: 1, on 30 Nov at 10:00 local time|Pernambuco: 4, at once|" +
		"Amapá and the east of Pará: 5, no sending hours within a year|1 person, when their hours begin|"
	if got := o.in(t, "en"); got != english {
		t.Errorf("got  %s\nwant %s", got, english)
	}
}

// Every zone and every holiday has a name in both languages.
func TestPage_NamesOfZonesAndHolidays(t *testing.T) {
	t.Parallel()
	w := window.Window{OffHolidays: true, Holidays: []string{"07-09", "01-25"}, Names: map[string]string{"07-09": "Revolução de 1932"}}
	for day := range w.Week {
		w.Week[day] = window.Hours{From: 540, Until: 600}
	}
	year := time.Date(2027, 1, 1, 3, 0, 0, 0, time.UTC)
	o := opened{said: year, holidays: w.Skipped(window.SaoPaulo, year, year.AddDate(1, 0, 0))}
	for _, z := range window.All() {
		o.groups = append(o.groups, reach.Group{OpensAt: year, Zones: []window.Zone{z}, Messages: 1})
	}
	for language, want := range map[string]string{
		"pt-BR": "Sem envio em feriado: 01/01 (Ano-Novo), 25/01 (feriado local), 26/03 (Sexta-feira Santa), 28/03 (Páscoa), 21/04 (Tiradentes), " +
			"01/05 (Dia do Trabalho), 09/07 (Revolução de 1932), 07/09 (Independência do Brasil), 12/10 (Nossa Senhora Aparecida), 02/11 (Finados), " +
			"15/11 (Proclamação da República), 20/11 (Consciência Negra), 25/12 (Natal).",
		"en": "Nothing is sent on holidays: 1 Jan (New Year’s Day), 25 Jan (local holiday), 26 Mar (Good Friday)",
	} {
		if got := o.in(t, language); strings.Contains(got, "ui.") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", language, got)
		}
	}
}
