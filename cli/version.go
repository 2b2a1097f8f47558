package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the release; `make build` sets it from git.
var Version = ""

// version is the release, or what the Go toolchain recorded about the build.
func version() string {
	if Version != "" {
		return Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		GroupID: groupServer,
		Args:    nArgs(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]string{
					"version": version(), "protocol": protocolVersion, "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}
			if a.quiet {
				a.print("%s", version())
				return nil
			}
			a.print("ap %s, protocol %s (%s, %s/%s)", version(), protocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// protocolVersion is the protocol this program speaks, as `describe` reports it.
const protocolVersion = "core-2"
