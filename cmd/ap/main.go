// Command ap is a process server for Agent Process.
package main

import (
	"context"
	"os"

	"github.com/apserver/ap/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
