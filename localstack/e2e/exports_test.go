package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// export is an export as the API shows it.
type export struct {
	ExportID, Status, URL string
	Lines                 int
}

// exported starts an export and waits for its file.
func (c *client) exported(campaignID, body string) (e export) {
	c.t.Helper()
	path := "/api/v1/external/campaigns/" + campaignID + "/exports"
	got := c.do(http.MethodPost, path, []byte(body), "Authorization", "Bearer "+c.token(), "Content-Type", "application/json")
	if got.status != http.StatusAccepted {
		c.t.Fatalf("export: status %d: %s", got.status, got.body)
	}
	must(c.t, json.Unmarshal(got.body, &e))
	c.eventually(3*time.Minute, "exported", func() bool {
		c.fetch(path+"/"+e.ExportID, &e)
		return e.Status == "completed"
	})
	return e
}

// follow requests the file of an export without a token.
func (c *client) follow(e export) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, e.URL, http.NoBody)
	must(c.t, err)
	res, err := http.DefaultClient.Do(r)
	must(c.t, err)
	return res
}

// A client exports a campaign, and Python reads the file as it was sent. The link needs no
// token.
func TestExport_ReadByPython(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	all := messages(3)
	all[0]["uid"], all[1]["uid"], all[2]["uid"] = "josé; \"Zé\"", "=1+1", "linha\n2"
	call := c.call(all)
	c.accept(call)
	c.eventually(3*time.Minute, "sent", func() bool { return c.sentOnce(all) })
	c.eventually(3*time.Minute, "recorded", func() bool { return c.read(call).Counts["pending"] == 0 })
	e := c.exported(call["campaignId"].(string), `{"format": "excel", "language": "pt-BR"}`)
	if e.Lines != 3 {
		t.Errorf("%d lines, want 3", e.Lines)
	}
	res := c.follow(e)
	defer res.Body.Close()
	file, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode != http.StatusOK || !strings.Contains(res.Header.Get("Content-Disposition"), "resultados-") {
		t.Errorf("the file answers %d, %q", res.StatusCode, res.Header.Get("Content-Disposition"))
	}
	rows := readByPython(t, c.env["PYTHON"], file)
	if len(rows) != 4 {
		t.Fatalf("%d rows: %q", len(rows), rows)
	}
	uids := map[string]string{}
	for _, row := range rows[1:] {
		uids[row[0]] = row[1]
	}
	spaced := func(m fields) string { // as people write a number, so that Excel shows its digits
		n := m["phone"].(string)
		return n[:3] + " " + n[3:5] + " " + n[5:10] + "-" + n[10:]
	}
	want := map[string]string{spaced(all[0]): "josé; \"Zé\"", spaced(all[1]): "'=1+1", spaced(all[2]): "linha\n2"}
	if diff := cmp.Diff(want, uids); diff != "" {
		t.Errorf("the uids (-want +got):\n%s", diff)
	}
	if got := strings.Join(rows[0][:4], "|"); got != "Número|Código do cliente (uid)|Situação|Motivo" {
		t.Errorf("the headings are %s", got)
	}
}

// readByPython returns the rows that Python's csv module finds in an Excel file.
func readByPython(t *testing.T, python string, file []byte) (rows [][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export.csv")
	must(t, os.WriteFile(path, file, 0o600))
	const program = "import csv, json, sys; print(json.dumps(list(csv.reader(open(sys.argv[1], encoding='utf-8-sig', newline=''), delimiter=';'))))"
	out, err := exec.CommandContext(t.Context(), python, "-c", program, path).Output()
	must(t, err)
	must(t, json.Unmarshal(out, &rows))
	return rows
}
