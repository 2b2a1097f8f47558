package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

func testPeople(t *testing.T, open Open) {
	t.Run("KeepsGroups", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		b.write(func(w server.Writer) error {
			for _, m := range [][2]string{{"finance", "mira@example.com"}, {"finance", "bo@example.com"}, {"legal", "mira@example.com"},
				{"finance", "bo@example.com"}} {
				if err := w.AddMember(m[0], m[1]); err != nil {
					return err
				}
			}
			return w.Bind("supplier", "approver", "bound-only")
		})
		groups := func() map[string][]string {
			return read(b, func(r server.Reader) (map[string][]string, error) { return r.Groups() })
		}
		of := func(email string) []string {
			return read(b, func(r server.Reader) ([]string, error) { return r.GroupsOf(email) })
		}
		require.Equal(t, map[string][]string{"finance": {"bo@example.com", "mira@example.com"}, "legal": {"mira@example.com"},
			"bound-only": nil}, groups())
		require.Equal(t, []string{"finance", "legal"}, of("mira@example.com"))
		require.Empty(t, of("nobody@example.com"))

		b.write(func(w server.Writer) error { return w.RemoveMember("legal", "mira@example.com") })
		require.NotContains(t, groups(), "legal")
		require.Equal(t, []string{"finance"}, of("mira@example.com"))
		require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error { return w.RemoveMember("legal", "mira@example.com") }),
			server.ErrNotFound)
	})

	t.Run("KeepsAgents", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		robot := server.AgentRow{Name: "robot", KeyHash: hash("key"), CreatedAt: epoch}
		limited := server.AgentRow{Name: "limited", KeyHash: hash("other"), Processes: []string{"supplier"}, CreatedAt: epoch,
			ExpiresAt: ptr(at(60))}
		none := server.AgentRow{Name: "none", KeyHash: hash("third"), Processes: []string{}, CreatedAt: epoch}
		for _, a := range []server.AgentRow{robot, limited, none} {
			b.write(func(w server.Writer) error { return w.PutAgent(a) })
		}
		agents := func() []server.AgentRow {
			return read(b, func(r server.Reader) ([]server.AgentRow, error) { return r.Agents() })
		}
		byKey := func(key string) (server.AgentRow, error) {
			return tryRead(b, func(r server.Reader) (server.AgentRow, error) { return r.AgentByKey(hash(key)) })
		}
		require.Equal(t, []server.AgentRow{limited, none, robot}, agents())
		got, err := byKey("other")
		require.NoError(t, err)
		require.Equal(t, limited, got)
		_, err = byKey("nothing")
		require.ErrorIs(t, err, server.ErrNotFound)

		b.write(func(w server.Writer) error { return w.TouchAgent("robot", at(2)) })
		b.write(func(w server.Writer) error { return w.RevokeAgent("robot", at(3)) })
		robot.LastUsed, robot.RevokedAt = ptr(at(2)), ptr(at(3))
		got, err = byKey("key")
		require.NoError(t, err)
		require.Equal(t, robot, got)

		renewed := server.AgentRow{Name: "robot", KeyHash: hash("new"), CreatedAt: at(4)}
		b.write(func(w server.Writer) error { return w.PutAgent(renewed) })
		_, err = byKey("key")
		require.ErrorIs(t, err, server.ErrNotFound)
		got, err = byKey("new")
		require.NoError(t, err)
		require.Equal(t, renewed, got)
		require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error { return w.RevokeAgent("nobody", at(1)) }), server.ErrNotFound)
	})
}
