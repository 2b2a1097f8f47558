package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Formats are the forms a report can be written in.
func Formats() []string { return []string{"text", "json", "junit"} }

// Names lists every case's id and every group.
func Names() []string {
	var out []string
	for _, c := range Cases() {
		if !slices.Contains(out, c.Group()) {
			out = append(out, c.Group())
		}
		out = append(out, c.ID)
	}
	return append(out, "folder")
}

// Unknown lists those of the names that are no case and no group.
func Unknown(names []string) []string {
	known := Names()
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return slices.Contains(known, n) || strings.HasPrefix(n, "folder.")
	})
}

// Write writes the report in one of Formats.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return r.writeJSON(w)
	case "junit":
		return r.writeJUnit(w)
	default:
		return r.writeText(w)
	}
}

// writeText writes what a person wants to know: what failed and why, what was skipped, the count.
func (r *Report) writeText(w io.Writer) error {
	var b strings.Builder
	for _, o := range r.Outcomes {
		if o.Status != Failed {
			continue
		}
		fmt.Fprintf(&b, "FAILED %s\n  rule      %s (%s)\n  differs   %s\n", o.ID, o.Rule, o.Section, indent(o.Reason))
		if o.Call != nil {
			fmt.Fprintf(&b, "  call      %s %s, as %s\n", o.Call.Tool, shorten(string(o.Call.Arguments)), o.Call.Caller)
			answer := string(o.Call.Answer)
			if answer == "" {
				answer = o.Call.Failed
			}
			fmt.Fprintf(&b, "  answer    %s\n  repeat    %s\n", shorten(answer), o.Curl)
		}
		b.WriteByte('\n')
	}
	skipped := map[string][]string{}
	var reasons []string
	for _, o := range r.Outcomes {
		if o.Status == Skipped {
			if skipped[o.Reason] == nil {
				reasons = append(reasons, o.Reason)
			}
			skipped[o.Reason] = append(skipped[o.Reason], o.ID)
		}
	}
	for _, reason := range reasons {
		fmt.Fprintf(&b, "SKIPPED %d: %s\n  %s\n\n", len(skipped[reason]), reason, strings.Join(skipped[reason], "\n  "))
	}
	fmt.Fprintf(&b, "%s: %d passed, %d failed, %d skipped in %.1f s\n", r.URL, r.Count(Passed), r.Count(Failed), r.Count(Skipped), r.Took.Seconds())
	if r.Count(Failed) == 0 && r.Count(Skipped) > 0 {
		b.WriteString("Nothing failed; what was skipped was not tested.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n            ") }

// shorten keeps a line readable; the JSON report has all of it.
func shorten(s string) string {
	const most = 600
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes)", len(s))
}

func (r *Report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		*Report
		Seconds float64 `json:"seconds"`
		Passed  int     `json:"passed"`
		Failed  int     `json:"failed"`
		Skipped int     `json:"skipped"`
	}{r, r.Took.Seconds(), r.Count(Passed), r.Count(Failed), r.Count(Skipped)})
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (r *Report) writeJUnit(w io.Writer) error {
	suite := junitSuite{Name: "agentprocess conformance: " + r.URL, Tests: len(r.Outcomes), Failures: r.Count(Failed), Skipped: r.Count(Skipped),
		Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	for _, o := range r.Outcomes {
		group, _, _ := strings.Cut(o.ID, ".")
		c := junitCase{Class: "conformance." + group, Name: o.ID, Time: fmt.Sprintf("%.3f", o.Seconds)}
		switch o.Status {
		case Failed:
			c.Failure = &junitMessage{Message: o.Reason, Text: fmt.Sprintf("%s (%s)\n%s", o.Rule, o.Section, o.Curl)}
		case Skipped:
			c.Skipped = &junitMessage{Message: o.Reason}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
