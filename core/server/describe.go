package server

import "context"

func describeTool() *tool {
	return newTool(tool{
		name: toolDescribe,
		description: "What this process server speaks: protocol version, profiles, tools, how long a claim lasts (leaseSeconds) and its limits. " +
			"Call it once when you connect. Then: get_work finds steps, claim takes one, submit completes it.",
		call: func(s *Server, _ context.Context, _ Identity, _ *arguments) (any, error) {
			return s.describe(), nil
		},
	})
}

// description is the result of describe. The limits of the check profile are always there (protocol.md 8).
type description struct {
	Protocol       string         `json:"protocol"`
	Version        string         `json:"version"`
	Profiles       []string       `json:"profiles"`
	LeaseSeconds   float64        `json:"leaseSeconds"`
	Person         personFormat   `json:"person"`
	Tools          []string       `json:"tools"`
	MaxUploadBytes int64          `json:"maxUploadBytes"`
	Limits         describeLimits `json:"limits"`
}

type personFormat struct {
	Format string `json:"format"`
}

type describeLimits struct {
	RunDataBytes    int      `json:"runDataBytes"`
	CheckPass       float64  `json:"checkPass"`
	CheckFail       *float64 `json:"checkFail"`
	CheckConfidence float64  `json:"checkConfidence"`
	CheckStateBytes int      `json:"checkStateBytes"`
}

func (s *Server) describe() description {
	return description{
		Protocol:       "agentprocess",
		Version:        "core-2",
		Profiles:       s.opts.Profiles,
		LeaseSeconds:   s.opts.Lease.Seconds(),
		Person:         personFormat{"email"},
		Tools:          Tools(),
		MaxUploadBytes: s.opts.MaxUploadBytes,
		Limits: describeLimits{
			RunDataBytes:    s.opts.RunDataBytes,
			CheckPass:       0.9,
			CheckConfidence: 0.8,
			CheckStateBytes: 64 << 10,
		},
	}
}
