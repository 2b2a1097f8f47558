//go:build race

package cli

// buildFlags build the program under test with the race detector, as the tests themselves were.
var buildFlags = []string{"-race"}
