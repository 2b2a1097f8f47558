//go:build !race

package cli

var buildFlags []string
