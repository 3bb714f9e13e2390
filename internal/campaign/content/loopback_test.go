package content //nolint:testpackage // it sets and resets what only a local stack sets

import "testing"

func TestAllowLoopback(t *testing.T) { //nolint:paralleltest // it changes a setting of the process
	local, other := Content{File: &File{URL: "http://127.0.0.1:4566/a.pdf"}}, Content{File: &File{URL: "http://loja.example/a.pdf"}}
	if len(local.Flaws()) == 0 || local.Unsendable() == "" {
		t.Error("http is accepted outside a local stack")
	}
	AllowLoopback()
	defer loopback.Store(false)
	if flaws := local.Flaws(); len(flaws) > 0 || local.Unsendable() != "" {
		t.Errorf("a URL of this machine has the flaws %+v", flaws)
	}
	if len(other.Flaws()) == 0 || other.Unsendable() == "" {
		t.Error("http of another host is accepted")
	}
}
