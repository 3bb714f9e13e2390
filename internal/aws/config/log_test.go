package config_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"campaign-dispatch/internal/aws/config"
)

func TestLogger_Members(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	config.Logger(&out, "INFO").Warn("something", "batch_id", "b")
	var line map[string]string
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["timestamp"] == "" || line["level"] != "WARN" || line["message"] != "something" || line["batch_id"] != "b" {
		t.Errorf("line %v", line)
	}
}

func TestLogger_Level(t *testing.T) {
	t.Parallel()
	for level, lines := range map[string]int{"TRACE": 4, "DEBUG": 4, "INFO": 3, "": 3, "WARN": 2, "ERROR": 1, "FATAL": 1} {
		var out bytes.Buffer
		log := config.Logger(&out, level)
		log.Debug("a")
		log.Info("b")
		log.Warn("c")
		log.Error("d")
		if got := strings.Count(out.String(), "\n"); got != lines {
			t.Errorf("level %q: %d lines, want %d", level, got, lines)
		}
	}
}
