package scale

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"campaign-dispatch/localstack/template"
)

// Setting holds the settings of a function. 0 means no limit.
type Setting struct {
	Memory      float64 // GB
	BatchSize   float64
	Window      float64 // seconds
	Concurrency float64 // MaximumConcurrency of its queue, or its reserved concurrency
}

// Settings holds the template's functions by short name, its parameters, and the values of its mapping Loads.
type Settings struct {
	Functions          map[string]Setting
	Parameters, Values map[string]float64
}

type stack struct {
	Globals struct {
		Function struct {
			Memory yaml.Node `yaml:"MemorySize"`
		} `yaml:"Function"`
	} `yaml:"Globals"`
	Parameters map[string]struct {
		Default string `yaml:"Default"`
	} `yaml:"Parameters"`
	Mappings  map[string]map[string]map[string]string `yaml:"Mappings"`
	Resources map[string]struct {
		Properties struct {
			Memory   yaml.Node `yaml:"MemorySize"`
			Reserved yaml.Node `yaml:"ReservedConcurrentExecutions"`
			Events   map[string]struct {
				Type       string `yaml:"Type"`
				Properties struct {
					BatchSize yaml.Node            `yaml:"BatchSize"`
					Window    yaml.Node            `yaml:"MaximumBatchingWindowInSeconds"`
					Scaling   map[string]yaml.Node `yaml:"ScalingConfig"`
				} `yaml:"Properties"`
			} `yaml:"Events"`
		} `yaml:"Properties"`
	} `yaml:"Resources"`
}

// ReadSettings returns the settings of a template file by the value of its parameter Load.
func ReadSettings(path string) (map[string]Settings, error) {
	var t stack
	if err := template.Decode(path, &t); err != nil {
		return nil, err
	}
	all := map[string]Settings{}
	for _, p := range Plans {
		all[p.Name] = t.settings(p.Name)
	}
	return all, nil
}

func (t stack) settings(plan string) Settings {
	s := Settings{Functions: map[string]Setting{}, Parameters: map[string]float64{}, Values: map[string]float64{}}
	for name, p := range t.Parameters {
		s.Parameters[name], _ = strconv.ParseFloat(p.Default, 64)
	}
	for name, value := range t.Mappings["Loads"][plan] {
		s.Values[name], _ = strconv.ParseFloat(value, 64)
	}
	for name, resource := range t.Resources {
		name, function := strings.CutSuffix(name, "Function")
		if !function {
			continue
		}
		r := resource.Properties
		if r.Memory.IsZero() {
			r.Memory = t.Globals.Function.Memory
		}
		set := Setting{Memory: t.number(&r.Memory, plan) / 1024, Concurrency: t.number(&r.Reserved, plan)}
		for _, e := range r.Events {
			if e.Type == "SQS" {
				set.BatchSize, set.Window = t.number(&e.Properties.BatchSize, plan), t.number(&e.Properties.Window, plan)
				most := e.Properties.Scaling["MaximumConcurrency"]
				set.Concurrency = t.number(&most, plan)
			}
		}
		s.Functions[strings.ToLower(name)] = set
	}
	return s
}

// number returns a value of the template, or 0.
func (t stack) number(node *yaml.Node, plan string) float64 {
	text := node.Value
	switch node.Tag {
	case "!Ref":
		text = t.Parameters[node.Value].Default
	case "!FindInMap":
		text = t.Mappings[node.Content[0].Value][plan][node.Content[2].Value]
	case "!If":
		return t.number(node.Content[1], plan)
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
