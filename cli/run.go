package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

// maxInputsBytes bounds what --inputs reads.
const maxInputsBytes = 4 << 20

type runFlags struct {
	input   []string
	inputs  string
	version int
	test    bool
	as      string
	follow  bool
}

func newRunCmd(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Start a run",
		Long: `Run starts a run of a published process. --input gives one input, written as the declared field's type needs it: text as it is, a
list or an object as JSON. --inputs reads them all from a JSON file, or from standard input with "-"; --input goes before it.

Without --as, the run is started by the server, and has no initiator.`,
		Example: "  ap run new-supplier --input supplier=Lindwurm --input country=AT --input yearlySpend=48000.00\n" +
			"  ap run travel-request --inputs trip.json --as mira@example.com --follow",
		GroupID: groupAdmin,
		Args:    nArgs(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			if cmd.Flags().Changed("version") && f.version < 1 {
				return usage("--version %d: versions count from 1", f.version)
			}
			view, id, err := a.startRun(cmd.Context(), b, args[0], f)
			if err != nil {
				return err
			}
			if f.follow {
				a.say("Run %s of %s version %d started.", view.Run.ID, view.Run.Process, view.Run.Version)
				if view, err = a.follow(cmd.Context(), b, id, view); err != nil {
					return err
				}
			}
			return a.printRun(view)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.input, "input", nil, "one input, `FIELD=VALUE` (repeatable)")
	flags.StringVar(&f.inputs, "inputs", "", "all inputs as a JSON object, from `FILE` or - for standard input")
	flags.IntVar(&f.version, "version", 0, "the version `N` instead of the latest")
	flags.BoolVar(&f.test, "test", false, "start a test run: it is marked as one everywhere and notifies nobody")
	flags.StringVar(&f.as, "as", "", "start it as the person with this `EMAIL`, who is then the initiator")
	flags.BoolVar(&f.follow, "follow", false, "report each step until the run ends or waits for people, time or events")
	return cmd
}

func (a *app) startRun(ctx context.Context, b *backend, name string, f runFlags) (*run.View, server.Identity, error) {
	id := admin
	if f.as != "" {
		var err error
		if id, err = b.srv.Person(ctx, f.as, nil); err != nil {
			return nil, id, err
		}
	}
	_, doc, err := b.srv.VersionSource(ctx, name, f.version)
	if err != nil {
		return nil, id, err
	}
	inputs, err := a.gatherInputs(doc, f)
	if err != nil {
		return nil, id, err
	}
	mode := run.Live
	if f.test {
		mode = run.Test
	}
	view, err := b.srv.StartRun(ctx, id, server.StartRunArgs{
		Process: name, Version: f.version, Inputs: inputs, Mode: mode, RequestID: newRequestID(),
	})
	return view, id, err
}

// newRequestID names a write that this call makes once.
func newRequestID() string { return "cli-" + rand.Text() }

// gatherInputs puts --inputs and --input together.
func (a *app) gatherInputs(doc *process.Document, f runFlags) (json.RawMessage, error) {
	given, err := a.readInputs(f.inputs)
	if err != nil {
		return nil, err
	}
	var problems []string
	seen := map[string]bool{}
	for _, arg := range f.input {
		name, value, ok := strings.Cut(arg, "=")
		if !utf8.ValidString(arg) {
			problems = append(problems, fmt.Sprintf("--input %q is not valid UTF-8", arg))
			continue
		}
		if !ok || name == "" {
			problems = append(problems, fmt.Sprintf("--input %q is not FIELD=VALUE", arg))
			continue
		}
		field, declared := doc.Inputs.Find(name)
		if !declared {
			problems = append(problems, fmt.Sprintf("%s declares no input %q%s", doc.Name, name, didYouMean(name, fieldNames(doc.Inputs))))
			continue
		}
		if seen[name] {
			problems = append(problems, fmt.Sprintf("--input %s is given twice", name))
			continue
		}
		seen[name] = true
		typed, err := typedValue(field, value)
		if err != nil {
			problems = append(problems, fmt.Sprintf("--input %s: %v", name, err))
			continue
		}
		given = given.with(name, typed)
	}
	if len(problems) > 0 {
		return nil, usage("%s", joinLines(problems))
	}
	return given.marshal()
}

func fieldNames(fields process.Fields) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// members are the members of a JSON object in their order, values with their digits as written.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// with replaces the member of that name, or adds it.
func (m members) with(name string, value json.RawMessage) members {
	for i := range m {
		if m[i].name == name {
			m[i].value = value
			return m
		}
	}
	return append(m, member{name, value})
}

func (m members) marshal() (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(x.name)
		if err != nil {
			return nil, failed("writing the inputs as JSON", err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(x.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// readInputs reads the JSON object that --inputs names; a name twice is refused.
func (a *app) readInputs(path string) (members, error) {
	var source []byte
	var err error
	switch path {
	case "":
		return nil, nil
	case "-":
		path = "standard input"
		source, err = io.ReadAll(io.LimitReader(a.in, maxInputsBytes))
	default:
		source, err = readBounded(path, maxInputsBytes)
	}
	if err != nil {
		return nil, failed("reading --inputs", err)
	}
	if !utf8.Valid(source) {
		return nil, usage("%s is not valid UTF-8; --inputs takes one JSON object in UTF-8", path)
	}
	list, err := objectMembers(source)
	if err != nil {
		return nil, usage("%s: %v; --inputs takes one JSON object such as {\"country\": \"AT\"}", path, err)
	}
	return list, nil
}

func objectMembers(source []byte) (members, error) {
	dec := json.NewDecoder(bytes.NewReader(source))
	open, err := dec.Token()
	if err != nil {
		return nil, jsonProblem(err)
	}
	if open != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	var list members
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, jsonProblem(err)
		}
		name := key.(string) // the decoder returns nothing else in a name's place
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, jsonProblem(err)
		}
		for _, x := range list {
			if x.name == name {
				return nil, fmt.Errorf("%q stands in it twice", name)
			}
		}
		list = append(list, member{name, value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, jsonProblem(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON object")
	}
	return list, nil
}

func jsonProblem(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends too early")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("no JSON at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// typedValue writes a value given as text in the JSON type that the field declares. Whether the field takes it is for
// the server to say.
func typedValue(field process.Field, value string) (json.RawMessage, error) {
	switch field.Type {
	case process.Number:
		var n json.Number
		if err := json.Unmarshal([]byte(value), &n); err != nil || strings.HasPrefix(value, `"`) {
			return nil, fmt.Errorf("%q is no number", value)
		}
		return json.RawMessage(value), nil
	case process.Boolean:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", value)
		}
		return json.RawMessage(strconv.FormatBool(b)), nil
	case process.List, process.Object:
		var raw json.RawMessage
		if err := json.Unmarshal([]byte(value), &raw); err != nil {
			return nil, fmt.Errorf("%q is no JSON; a %s is written such as %s", value, field.Type, example(field.Type))
		}
		return raw, nil
	}
	return json.Marshal(value)
}

func example(t process.Type) string {
	if t == process.List {
		return `["one","two"]`
	}
	return `{"key":"value"}`
}
