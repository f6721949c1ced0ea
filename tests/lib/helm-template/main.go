// SPDX-License-Identifier: Apache-2.0

// Renders a chart as `helm template` does, as far as our chart goes: Go's own templates, with the
// functions of sprig and Helm's include and toYaml. Helm itself is not in Debian.
//
//	main CHART RELEASE NAMESPACE [VALUES.yaml]
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) map[string]interface{} {
	text, err := os.ReadFile(path)
	must(err)
	values := map[string]interface{}{}
	must(yaml.Unmarshal(text, &values))
	return values
}

// Maps are merged, everything else is replaced, as Helm does.
func merge(into, from map[string]interface{}) {
	for key, value := range from {
		below, isMap := value.(map[string]interface{})
		old, wasMap := into[key].(map[string]interface{})
		if isMap && wasMap {
			merge(old, below)
		} else {
			into[key] = value
		}
	}
}

func toYaml(v interface{}) (string, error) {
	var out strings.Builder
	writer := yaml.NewEncoder(&out)
	writer.SetIndent(2)
	err := writer.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

func main() {
	chart := os.Args[1]
	values := read(filepath.Join(chart, "values.yaml"))
	if len(os.Args) > 4 {
		merge(values, read(os.Args[4]))
	}
	about := read(filepath.Join(chart, "Chart.yaml"))
	data := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": os.Args[2], "Namespace": os.Args[3], "Service": "Helm"},
		"Chart":   map[string]interface{}{"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	all := template.New("chart").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = toYaml
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	all.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	must(err)
	sort.Strings(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		_, err = all.New(filepath.Base(file)).Parse(string(text))
		must(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		var out strings.Builder
		must(all.ExecuteTemplate(&out, name, data))
		if text := strings.TrimSpace(out.String()); text != "" {
			fmt.Printf("---\n# %s\n%s\n", name, text)
		}
	}
}
