package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// readSettingsOf reads the settings as `ap serve ARGS` in a folder with that ap.yaml would.
func readSettingsOf(t *testing.T, yaml string, args ...string) (*settings, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "ap.yaml")
	require.NoError(t, os.WriteFile(path, []byte(yaml), 0o600))
	a := &app{configFile: path, flags: pflag.NewFlagSet("serve", pflag.ContinueOnError)}
	addSettingFlags(a.flags, "data")
	addSettingFlags(a.flags)
	require.NoError(t, a.flags.Parse(args))
	s, err := a.settings()
	if err != nil {
		err = fmt.Errorf("%s", strings.ReplaceAll(err.Error(), dir+"/", ""))
	}
	return s, err
}

func TestSettingsHaveTheirDefaults(t *testing.T) {
	s, err := readSettingsOf(t, "")
	require.NoError(t, err)
	require.Equal(t, "./ap-data", s.Data)
	require.Equal(t, "127.0.0.1:8080", s.Addr)
	require.Equal(t, 10*time.Minute, s.Lease)
	require.Equal(t, 262144, s.RunDataBytes)
	require.Equal(t, 10<<20, s.MaxUploadBytes)
	require.Equal(t, "operators", s.Operators)
	require.Equal(t, []string{"openid", "email", "profile"}, s.OIDCScopes)
	require.False(t, s.Dev)
	require.False(t, s.PeopleOverMCP)
}

func TestFlagsGoBeforeVariablesAndVariablesBeforeTheFile(t *testing.T) {
	t.Setenv("AP_LEASE", "2m")
	t.Setenv("AP_OPERATORS", "from-variable")
	s, err := readSettingsOf(t, "lease: 1m\noperators: from-file\nfile-url-ttl: 1d\n", "--lease", "3m")
	require.NoError(t, err)
	require.Equal(t, 3*time.Minute, s.Lease)
	require.Equal(t, "from-variable", s.Operators)
	require.Equal(t, 24*time.Hour, s.FileURLTTL)
}

func TestEverySettingCanBeAFlagAVariableAndAKey(t *testing.T) {
	values := map[string]string{
		"DIR": "/tmp/x", "HOST:PORT": "127.0.0.1:0", "URL": "https://ap.example.com", "true|false": "true", "DURATION": "2h",
		"text|json": "json", "LEVEL": "warn", "GROUP": "ops", "N": "4096", "ID": "client", "SECRET": "s3cret",
		"SCOPES": "openid", "CLAIM": "roles", "AUDIENCE": "aud",
	}
	for _, x := range settingTable() {
		want := values[x.value]
		require.NotEmpty(t, want, x.value)
		read := func(yaml string, args ...string) string {
			// Settings that only go together with others are judged before that check.
			s := &settings{}
			a := &app{flags: pflag.NewFlagSet("serve", pflag.ContinueOnError)}
			a.configFile = filepath.Join(t.TempDir(), "ap.yaml")
			require.NoError(t, os.WriteFile(a.configFile, []byte(yaml), 0o600))
			addSettingFlags(a.flags, "data")
			addSettingFlags(a.flags)
			require.NoError(t, a.flags.Parse(args))
			v, problems, err := a.gather(s)
			require.NoError(t, err)
			require.Empty(t, problems)
			return v.GetString(x.name)
		}
		require.Equal(t, want, read("", "--"+x.name+"="+want), "flag %s", x.name)
		require.Equal(t, want, read(x.name+": \""+want+"\"\n"), "key %s", x.name)
		t.Setenv(x.variable(), want)
		require.Equal(t, want, read(""), "variable %s", x.variable())
		require.NoError(t, os.Unsetenv(x.variable()))
	}
}

func TestConfigFileProblemsComeAllAtOnceWithTheirLines(t *testing.T) {
	_, err := readSettingsOf(t, `lease: 10x
leese: 1m
addr: [127.0.0.1:8080]
lease: 2m
operators:
run-data-bytes: lots
dev: maybe
base-url: ap.example.com
42: x
oidc-scopes: [openid, {a: b}]
`)
	require.Error(t, err)
	require.Equal(t, strings.Join([]string{
		`ap.yaml:2: "leese" is no setting; did you mean "lease"?`,
		`ap.yaml:3: addr takes one value (HOST:PORT), no list or map, and not nothing`,
		`ap.yaml:4: lease is already set on line 1`,
		`ap.yaml:5: operators takes one value (GROUP), no list or map, and not nothing`,
		`ap.yaml:9: "42" is no setting`,
		`ap.yaml:10: oidc-scopes takes a list, or text`,
		`ap.yaml:8: base-url: "ap.example.com" is no URL; write one such as https://ap.example.com`,
		`ap.yaml:7: dev: "maybe" is neither true nor false`,
		`ap.yaml:1: lease: "10x" is no duration; write one such as 90s, 10m, 12h or 3d`,
		`ap.yaml:6: run-data-bytes: "lots" is no whole number of at least 1024`,
	}, "\n    "), err.Error())
}

func TestConfigFileThatIsNoSettings(t *testing.T) {
	for name, test := range map[string]struct{ yaml, want string }{
		"a list":        {"- lease: 1m\n", "ap.yaml:1: settings are written as `name: value`, one a line"},
		"broken YAML":   {"lease: [\n", "ap.yaml: "},
		"two documents": {"lease: 1m\n---\nlease: 2m\n", "ap.yaml: it holds more than one YAML document"},
		"binary":        {"\x00\x01\x02", "ap.yaml: "},
		"too large":     {strings.Repeat("# filler\n", 200_000), "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readSettingsOf(t, test.yaml)
			require.ErrorContains(t, err, test.want)
		})
	}
	for name, yaml := range map[string]string{"empty": "", "comments": "# nothing yet\n", "null": "~\n"} {
		t.Run(name, func(t *testing.T) {
			_, err := readSettingsOf(t, yaml)
			require.NoError(t, err)
		})
	}
}

func TestConfigFileThatWasAskedForHasToBeThere(t *testing.T) {
	var out, errOut bytes.Buffer
	status := Main(t.Context(), []string{"processes", "--config", filepath.Join(t.TempDir(), "no.yaml")}, strings.NewReader(""), &out, &errOut)
	require.Equal(t, exitFailed, status)
	require.Contains(t, errOut.String(), "no.yaml")
	require.Contains(t, errOut.String(), "--config")
}

func TestVariableProblemsNameTheVariable(t *testing.T) {
	t.Setenv("AP_RATE_LIMIT", "fast")
	t.Setenv("AP_SESSION_IDLE", "1s")
	_, err := readSettingsOf(t, "", "--addr", "8080")
	require.ErrorContains(t, err, `AP_RATE_LIMIT: "fast" is no number of calls a second`)
	require.ErrorContains(t, err, `AP_SESSION_IDLE: "1s" is shorter than 1m0s`)
	require.ErrorContains(t, err, `--addr: "8080" is no HOST:PORT`)
}

func TestSettingsThatDontGoTogether(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"dev on every interface":     {[]string{"--dev", "--addr", ":8080"}, "dev: anyone could sign in as anyone at :8080"},
		"dev on a public address":    {[]string{"--dev", "--addr", "192.0.2.1:80"}, "dev: anyone could sign in as anyone"},
		"dev behind a public URL":    {[]string{"--dev", "--base-url", "https://ap.example.com"}, "dev: anyone could sign in as anyone at https://ap.example.com"},
		"dev with an issuer":         {[]string{"--dev", "--oidc-issuer", "https://login.example.com"}, "dev: it has an issuer of its own"},
		"issuer without a client":    {[]string{"--oidc-issuer", "https://login.example.com"}, "oidc-client-id is missing"},
		"issuer in the open":         {[]string{"--oidc-issuer", "http://login.example.com"}, "not https"},
		"base URL with a path":       {[]string{"--base-url", "https://example.com/ap"}, "has more than a scheme, a host and a port; write https://example.com"},
		"base URL without a host":    {[]string{"--base-url", "https://"}, "is no URL"},
		"base URL with no such port": {[]string{"--base-url", "https://example.com:99999"}, "ports go up to 65535"},
		"base URL of another scheme": {[]string{"--base-url", "ftp://example.com"}, "is no URL"},
		"idle beyond the lifetime":   {[]string{"--session-idle", "2d"}, "longer than session-lifetime"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readSettingsOf(t, "", test.args...)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestBaseURLLosesItsSlash(t *testing.T) {
	s, err := readSettingsOf(t, "base-url: https://ap.example.com/\n")
	require.NoError(t, err)
	require.Equal(t, "https://ap.example.com", s.BaseURL)
}

func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository(t), "docs", "configuration.md"))
	require.NoError(t, err)
	var table strings.Builder
	table.WriteString("| setting | variable | default | what it is |\n|---|---|---|---|\n")
	for _, x := range settingTable() {
		def := "–"
		if x.def != "" {
			def = "`" + x.def + "`"
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | %s |\n", x.name, x.variable(), def, x.usage)
	}
	require.Contains(t, string(page), table.String()+"\n", "the table of settings in docs/configuration.md is to be:\n%s", &table)
}
