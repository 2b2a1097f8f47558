package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"gopkg.in/yaml.v3"
)

// defaultConfigFile is read when it is there and --config was not given.
const defaultConfigFile = "ap.yaml"

// maxConfigBytes bounds ap.yaml: a larger one was not meant.
const maxConfigBytes = 1 << 20

// configFile is ap.yaml, read but not yet interpreted.
type configFile struct {
	path   string
	values map[string]configValue
}

// configValue is the text of a setting and the line it stands on.
type configValue struct {
	text string
	line int
}

// readConfigFile reads ap.yaml. It is strict: a key that is no setting, a key written twice or a value that is no plain
// text is a problem, each named with its line.
func (a *app) readConfigFile() (file configFile, problems []string) {
	file.path = a.configFile
	if file.path == "" {
		file.path = os.Getenv("AP_CONFIG")
	}
	asked := file.path != ""
	if !asked {
		file.path = defaultConfigFile
	}
	source, err := readBounded(file.path, maxConfigBytes)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return file, nil
	}
	if err != nil {
		return file, []string{fmt.Sprintf("%v; --config names the file with the settings", err)}
	}

	var root yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(source))
	if err := dec.Decode(&root); errors.Is(err, io.EOF) {
		return file, nil
	} else if err != nil {
		return file, []string{file.path + ": " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return file, []string{file.path + ": it holds more than one YAML document"}
	}
	top := root.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return file, nil
	}
	if top.Kind != yaml.MappingNode {
		return file, []string{fmt.Sprintf("%s:%d: settings are written as `name: value`, one a line", file.path, top.Line)}
	}
	file.values, problems = readSettings(file.path, top)
	return file, problems
}

// readSettings takes the settings from the top mapping of ap.yaml.
func readSettings(path string, top *yaml.Node) (values map[string]configValue, problems []string) {
	table := map[string]setting{}
	var names []string
	for _, x := range settingTable() {
		table[x.name] = x
		names = append(names, x.name)
	}
	values = map[string]configValue{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		problem := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("%s:%d: ", path, key.Line)+fmt.Sprintf(format, args...))
		}
		x, known := table[key.Value]
		if !known || key.Kind != yaml.ScalarNode {
			problem("%q is no setting%s", key.Value, didYouMean(key.Value, names))
			continue
		}
		if before, twice := values[x.name]; twice {
			problem("%s is already set on line %d", x.name, before.line)
			continue
		}
		text, ok := settingText(value, x.list)
		if !ok {
			problem("%s takes %s", x.name, expectation(x))
			continue
		}
		values[x.name] = configValue{text: text, line: value.Line}
	}
	return values, problems
}

// settingText is the text of a value: a scalar's as it was written, or that of a list's items between spaces.
func settingText(value *yaml.Node, list bool) (string, bool) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag != "!!null":
		return value.Value, true
	case value.Kind == yaml.SequenceNode && list:
		var items []string
		for _, item := range value.Content {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return "", false
			}
			items = append(items, item.Value)
		}
		return strings.Join(items, " "), true
	}
	return "", false
}

func expectation(x setting) string {
	if x.list {
		return "a list, or text"
	}
	return "one value (" + x.value + "), no list or map, and not nothing"
}

// readBounded reads a file of at most limit bytes; its errors name the path and say what is wrong with it.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder, not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	source, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(source)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return source, nil
}
