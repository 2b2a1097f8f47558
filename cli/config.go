package cli

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// settings are all settings, after the flags, the AP_… variables and ap.yaml were read, in that order of precedence.
type settings struct {
	Data string

	Addr            string
	BaseURL         string
	Dev             bool
	ShutdownTimeout time.Duration
	LogFormat       string
	LogLevel        string

	Lease          time.Duration
	Operators      string
	RunDataBytes   int
	MaxUploadBytes int
	FileURLTTL     time.Duration

	OIDCIssuer          string
	OIDCClientID        string
	OIDCClientSecret    string
	OIDCScopes          []string
	OIDCGroupsClaim     string
	OIDCAudience        string
	OIDCRequireVerified bool
	DecideMaxAge        time.Duration
	PeopleOverMCP       bool
	SessionLifetime     time.Duration
	SessionIdle         time.Duration

	RateLimit     float64
	RateBurst     int
	MaxConcurrent int
}

// setting is one row of the table of settings: --NAME, AP_NAME (upper case, dashes as underscores), and the key NAME in
// ap.yaml.
type setting struct {
	name string
	// value names what is to be written, for --help; def is what holds without it, "" for nothing.
	value, def string
	usage      string
	// global settings are flags of every command, the others of serve.
	global bool
	// list settings may be a list in ap.yaml; elsewhere their parts stand between spaces or commas.
	list bool
	// secret settings are never shown.
	secret bool
	// set reads the text into s; its error says what was expected.
	set func(s *settings, text string) error
}

// settingTable is the one place that knows all settings; docs/configuration.md is checked against it.
func settingTable() []setting {
	return []setting{
		{name: "data", value: "DIR", def: "./ap-data", global: true, usage: "the data directory: database, uploaded files, secret key",
			set: into(func(s *settings) *string { return &s.Data }, text)},

		{name: "addr", value: "HOST:PORT", def: "127.0.0.1:8080", usage: "where to listen; port 0 takes a free one",
			set: into(func(s *settings) *string { return &s.Addr }, address)},
		{name: "base-url", value: "URL", usage: "the public URL, as browsers and agents reach it (default: http:// and the address)",
			set: into(func(s *settings) *string { return &s.BaseURL }, baseURL)},
		{name: "dev", value: "true|false", def: "false", usage: "built-in sign-in for any e-mail and a clock that can be moved; loopback only",
			set: into(func(s *settings) *bool { return &s.Dev }, boolean)},
		{name: "shutdown-timeout", value: "DURATION", def: "20s", usage: "how long requests under way may take once the server is told to stop",
			set: into(func(s *settings) *time.Duration { return &s.ShutdownTimeout }, atLeast(0))},
		{name: "log-format", value: "text|json", def: "text", usage: "how the log on stderr is written",
			set: into(func(s *settings) *string { return &s.LogFormat }, oneOf("text", "json"))},
		{name: "log-level", value: "LEVEL", def: "info", usage: "debug, info, warn or error",
			set: into(func(s *settings) *string { return &s.LogLevel }, oneOf("debug", "info", "warn", "error"))},

		{name: "lease", value: "DURATION", def: "10m", usage: "how long an agent's claim lasts without a renewal",
			set: into(func(s *settings) *time.Duration { return &s.Lease }, atLeast(time.Second))},
		{name: "operators", value: "GROUP", def: "operators", usage: "the group that gets escalations and may cancel runs",
			set: into(func(s *settings) *string { return &s.Operators }, text)},
		{name: "run-data-bytes", value: "N", def: "262144", usage: "the most that one run's data may take, in bytes",
			set: into(func(s *settings) *int { return &s.RunDataBytes }, count(1024))},
		{name: "max-upload-bytes", value: "N", def: "10485760", usage: "the largest file, in bytes",
			set: into(func(s *settings) *int { return &s.MaxUploadBytes }, count(1))},
		{name: "file-url-ttl", value: "DURATION", def: "15m", usage: "how long the signed URL of a file works",
			set: into(func(s *settings) *time.Duration { return &s.FileURLTTL }, atLeast(time.Second))},

		{name: "oidc-issuer", value: "URL", usage: "the identity provider that people sign in with",
			set: into(func(s *settings) *string { return &s.OIDCIssuer }, issuerURL)},
		{name: "oidc-client-id", value: "ID", usage: "the client ID the provider gave this server",
			set: into(func(s *settings) *string { return &s.OIDCClientID }, text)},
		{name: "oidc-client-secret", value: "SECRET", secret: true, usage: "its secret; better in the variable than on the command line",
			set: into(func(s *settings) *string { return &s.OIDCClientSecret }, text)},
		{name: "oidc-scopes", value: "SCOPES", def: "openid email profile", list: true, usage: "the scopes to ask for",
			set: into(func(s *settings) *[]string { return &s.OIDCScopes }, words)},
		{name: "oidc-groups-claim", value: "CLAIM", def: "groups", usage: "the claim that lists a person's groups",
			set: into(func(s *settings) *string { return &s.OIDCGroupsClaim }, text)},
		{name: "oidc-audience", value: "AUDIENCE", usage: "the audience of access tokens on /mcp (default: the base URL and /mcp)",
			set: into(func(s *settings) *string { return &s.OIDCAudience }, text)},
		{name: "oidc-require-email-verified", value: "true|false", def: "false", usage: "refuse a sign-in when the provider doesn't say that the e-mail is verified",
			set: into(func(s *settings) *bool { return &s.OIDCRequireVerified }, boolean)},
		{name: "decide-max-age", value: "DURATION", def: "0", usage: "ask for a fresh sign-in before a decision when the last is older; 0 never",
			set: into(func(s *settings) *time.Duration { return &s.DecideMaxAge }, atLeast(0))},
		{name: "people-over-mcp", value: "true|false", def: "false", usage: "let a person's access token on /mcp count as the person, who can then decide there",
			set: into(func(s *settings) *bool { return &s.PeopleOverMCP }, boolean)},
		{name: "session-lifetime", value: "DURATION", def: "12h", usage: "how long a sign-in lasts at most",
			set: into(func(s *settings) *time.Duration { return &s.SessionLifetime }, atLeast(time.Minute))},
		{name: "session-idle", value: "DURATION", def: "2h", usage: "how long it lasts unused",
			set: into(func(s *settings) *time.Duration { return &s.SessionIdle }, atLeast(time.Minute))},

		{name: "rate-limit", value: "N", def: "5000", usage: "calls a second that one identity may make on /mcp; 0 sets no limit",
			set: into(func(s *settings) *float64 { return &s.RateLimit }, rate)},
		{name: "rate-burst", value: "N", def: "5000", usage: "calls it may make at once before the limit holds",
			set: into(func(s *settings) *int { return &s.RateBurst }, count(1))},
		{name: "max-concurrent", value: "N", def: "512", usage: "requests that are worked on at the same time; 0 sets no limit",
			set: into(func(s *settings) *int { return &s.MaxConcurrent }, count(0))},
	}
}

// variable is the environment variable of a setting.
func (x setting) variable() string {
	return "AP_" + strings.ToUpper(strings.ReplaceAll(x.name, "-", "_"))
}

// boolean settings are flags that need no value.
func (x setting) boolean() bool { return x.value == "true|false" }

// addSettingFlags adds the flags of the settings named, or of all that are not global.
func addSettingFlags(flags *pflag.FlagSet, names ...string) {
	for _, x := range settingTable() {
		if len(names) == 0 && x.global || len(names) > 0 && !slices.Contains(names, x.name) {
			continue
		}
		flag := flags.VarPF(&settingFlag{name: x.name, text: x.def, value: x.value, boolean: x.boolean()}, x.name, "", x.usage)
		flag.DefValue = x.def
		if x.boolean() {
			flag.NoOptDefVal = "true"
		}
	}
}

// settingFlag is a flag whose text is checked later, together with all other settings. It is a pflag.Value and a
// viper.FlagValue.
type settingFlag struct {
	name, text, value string
	boolean           bool
	given             bool
}

func (f *settingFlag) String() string { return f.text }

func (f *settingFlag) Set(text string) error {
	if f.boolean {
		if _, err := boolean(text); err != nil {
			return err
		}
	}
	f.text, f.given = text, true
	return nil
}

// Type is what --help shows as the value.
func (f *settingFlag) Type() string {
	if f.boolean {
		return "bool"
	}
	return f.value
}

// HasChanged, Name, ValueString and ValueType implement viper.FlagValue.
func (f *settingFlag) HasChanged() bool    { return f.given }
func (f *settingFlag) Name() string        { return f.name }
func (f *settingFlag) ValueString() string { return f.text }
func (f *settingFlag) ValueType() string   { return "string" }

// settingFlag returns the flag of a setting, or nil when the command has none.
func (a *app) settingFlag(name string) *settingFlag {
	flag := a.flags.Lookup(name)
	if flag == nil {
		return nil
	}
	switch value := flag.Value.(type) {
	case *settingFlag:
		return value
	case *eventDataFlag:
		return &value.settingFlag
	}
	return nil
}

// settings reads all settings. Every problem is reported at once, each with where it stands.
func (a *app) settings() (*settings, error) {
	s := &settings{}
	_, problems, err := a.gather(s)
	if err != nil {
		return nil, failed("reading the settings", err)
	}
	if len(problems) == 0 {
		problems = s.check()
	}
	if len(problems) > 0 {
		return nil, usage("%s", joinLines(problems))
	}
	return s, nil
}

// gather fills s from flags, variables and ap.yaml.
func (a *app) gather(s *settings) (v *viper.Viper, problems []string, err error) {
	v = viper.New()
	file, problems := a.readConfigFile()
	values := map[string]any{}
	for name, value := range file.values {
		values[name] = value.text
	}
	if err := v.MergeConfigMap(values); err != nil {
		return nil, nil, err
	}
	for _, x := range settingTable() {
		v.SetDefault(x.name, x.def)
		if err := v.BindEnv(x.name, x.variable()); err != nil {
			return nil, nil, err
		}
		flag := a.settingFlag(x.name)
		if flag != nil {
			if err := v.BindFlagValue(x.name, flag); err != nil {
				return nil, nil, err
			}
		}
		given := v.GetString(x.name)
		if given == "" {
			continue
		}
		if err := x.set(s, given); err != nil {
			problems = append(problems, fmt.Sprintf("%s: %s", origin(x, flag, file), err))
		}
	}
	return v, problems, nil
}

// origin says where a setting's value was written.
func origin(x setting, flag *settingFlag, file configFile) string {
	if flag != nil && flag.given {
		return "--" + x.name
	}
	if os.Getenv(x.variable()) != "" {
		return x.variable()
	}
	if value, ok := file.values[x.name]; ok {
		return fmt.Sprintf("%s:%d: %s", file.path, value.line, x.name)
	}
	return x.name
}

// check reports settings that don't go together.
func (s *settings) check() []string {
	var problems []string
	if s.Dev {
		if !loopback(s.Addr) {
			problems = append(problems, fmt.Sprintf("dev: anyone could sign in as anyone at %s; use it on a loopback address such as 127.0.0.1:8080", s.Addr))
		}
		if u, err := url.Parse(s.BaseURL); err == nil && s.BaseURL != "" && !loopback(net.JoinHostPort(u.Hostname(), "0")) {
			problems = append(problems, fmt.Sprintf("dev: anyone could sign in as anyone at %s; use a loopback base-url, or none", s.BaseURL))
		}
		if s.OIDCIssuer != "" {
			problems = append(problems, "dev: it has an issuer of its own; leave oidc-issuer out, or dev")
		}
	} else if s.OIDCIssuer != "" && s.OIDCClientID == "" {
		problems = append(problems, "oidc-issuer: oidc-client-id is missing; the provider shows it where this server is registered")
	}
	if s.SessionIdle > s.SessionLifetime {
		problems = append(problems, fmt.Sprintf("session-idle: %s is longer than session-lifetime, %s", s.SessionIdle, s.SessionLifetime))
	}
	return problems
}

// loopback says whether an address is reached from this machine alone.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// into makes a setting's set from the field it fills and the parser of its text.
func into[T any](field func(*settings) *T, parse func(string) (T, error)) func(*settings, string) error {
	return func(s *settings, text string) error {
		value, err := parse(text)
		if err != nil {
			return err
		}
		*field(s) = value
		return nil
	}
}

func text(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "", fmt.Errorf("it is blank")
	}
	return s, nil
}

func words(s string) ([]string, error) {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' }), nil
}

func boolean(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

func count(minimum int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < minimum {
			return 0, fmt.Errorf("%q is no whole number of at least %d", s, minimum)
		}
		return n, nil
	}
}

func rate(s string) (float64, error) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0 && n < 1e9) {
		return 0, fmt.Errorf("%q is no number of calls a second", s)
	}
	return n, nil
}

func oneOf(allowed ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(allowed, s) {
			return "", fmt.Errorf("%q is not one of %s", s, strings.Join(allowed, ", "))
		}
		return s, nil
	}
}

// atLeast parses a duration that is no shorter than minimum.
func atLeast(minimum time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := parseDuration(s)
		if err != nil {
			return 0, err
		}
		if d < minimum {
			return 0, fmt.Errorf("%q is shorter than %s", s, minimum)
		}
		return d, nil
	}
}

// parseDuration reads a Go duration such as 90s or 1h30m, or days such as 3d.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; write one such as 90s, 10m, 12h or 3d", s)
	}
	return d, nil
}

func address(s string) (string, error) {
	_, port, err := net.SplitHostPort(s)
	if err != nil || !isPort(port) {
		return "", fmt.Errorf("%q is no HOST:PORT; write one such as 127.0.0.1:8080, or :8080 for every interface", s)
	}
	return s, nil
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func baseURL(s string) (string, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", fmt.Errorf("%q is no URL; write one such as https://ap.example.com", s)
	case u.Port() != "" && !isPort(u.Port()):
		return "", fmt.Errorf("%q has no port %s: ports go up to 65535", s, u.Port())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return "", fmt.Errorf("%q has more than a scheme, a host and a port; write %s://%s", s, u.Scheme, u.Host)
	}
	return u.Scheme + "://" + u.Host, nil
}

func issuerURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("%q is no URL; write the provider's issuer, such as https://login.example.com", s)
	}
	if u.Scheme == "http" && !loopback(net.JoinHostPort(u.Hostname(), "0")) {
		return "", fmt.Errorf("%q is not https; sign-ins must not cross a network in the open", s)
	}
	return s, nil
}
