package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"
)

// printJSON prints one JSON document.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return failed("writing the JSON", err)
	}
	return nil
}

// table prints rows under a heading, in columns. With --quiet it prints the first column alone.
func (a *app) table(heading []string, rows [][]string) {
	if a.quiet {
		for _, row := range rows {
			fmt.Fprintln(a.out, printable(row[0]))
		}
		return
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(heading, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, strings.ReplaceAll(printable(cell), "\n", " "))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

// printable makes text that came from elsewhere harmless on a terminal: control characters (escape sequences among
// them) and invisible format characters become "?". Line feeds stay; tabs become spaces.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return '?'
		}
		return r
	}, s)
}
