package db

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// assignee is the one column that says who something is for.
func assignee(group, person string) string {
	if group != "" {
		return "g:" + group
	}
	return "p:" + person
}

func assigned(assignee string) (group, person string) {
	kind, name, _ := strings.Cut(assignee, ":")
	if kind == "g" {
		return name, ""
	}
	return "", name
}

// assignees are all keys of a person and groups, none twice.
func assignees(person string, groups []string) []string {
	var keys []string
	if person != "" {
		keys = append(keys, assignee("", person))
	}
	for _, g := range groups {
		keys = append(keys, assignee(g, ""))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// chunks cuts keys into parts that one statement can merge. Without keys it yields one empty part.
func chunks(keys []string) iter.Seq[[]string] {
	if len(keys) == 0 {
		return func(yield func([]string) bool) { yield(nil) }
	}
	return slices.Chunk(keys, mergeWidth)
}

func head[T any](rows []T, n int) []T { return rows[:min(len(rows), n)] }

func compare(a, b int64, more ...string) int {
	if c := cmp.Compare(a, b); c != 0 {
		return c
	}
	for i := 0; i+1 < len(more); i += 2 {
		if c := strings.Compare(more[i], more[i+1]); c != 0 {
			return c
		}
	}
	return 0
}
