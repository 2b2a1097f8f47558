package cli

import (
	"net/url"
	"path/filepath"

	"github.com/apserver/ap/core/process"
)

// The parts of SARIF 2.1.0 that lint fills in.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Short   sarifMessage `json:"shortDescription"`
		Full    sarifMessage `json:"fullDescription"`
		Help    sarifMessage `json:"help"`
		Default sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndColumn   int `json:"endColumn"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// lintSARIF prints a SARIF 2.1.0 log, with every rule, so that a reader of the log can explain each result.
func (a *app) lintSARIF(files []linted) error {
	driver := sarifDriver{Name: "ap", Version: version()}
	index := map[string]int{}
	for i, r := range process.Rules() {
		index[r.ID] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: r.ID, Short: sarifMessage{r.What}, Full: sarifMessage{r.What + " " + r.Why}, Help: sarifMessage{r.Mend},
			Default: sarifDefault{string(r.Severity)},
		})
	}
	run := sarifRun{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	for _, f := range files {
		for _, i := range f.issues {
			at := sarifLocation{Physical: sarifPhysical{sarifArtifact{fileURI(f.path)}, sarifRegion{i.Line, i.Column, i.EndColumn}}}
			if i.Path != "" {
				at.Logical = []sarifLogical{{i.Path}}
			}
			run.Results = append(run.Results, sarifResult{i.Rule, index[i.Rule], string(i.Severity), sarifMessage{i.Message}, []sarifLocation{at}})
		}
	}
	return a.printJSON(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// fileURI writes a path as a URI reference: relative where the path is.
func fileURI(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
