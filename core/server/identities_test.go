package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

func TestAnAgentKeyWorksUntilItIsRevokedOrExpires(t *testing.T) {
	t.Parallel()
	now := servertest.Start
	dir := t.TempDir()
	f := servertest.Open(t, dir, func(o *server.Options) { o.RealTime = func() time.Time { return now } })
	f.Publish(review, nil)
	key, err := f.AddAgent(t.Context(), "screener", []string{"review", "review"}, 24*time.Hour)
	require.NoError(t, err)
	require.Regexp(t, `^ap_[A-Za-z0-9_-]{43}$`, key)
	id, ok, err := f.AgentByKey(t.Context(), key)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, server.Identity{Kind: server.Agent, Name: "screener", Processes: []string{"review"}}, id)

	for _, bad := range []string{"", "ap_", key + "x", key[:len(key)-1], strings.ToUpper(key), "Bearer " + key} {
		_, ok, err := f.AgentByKey(t.Context(), bad)
		require.NoError(t, err)
		require.False(t, ok, bad)
	}
	// The moved clock of a rehearsal doesn't end a key; real time does.
	advance(t, f, 100*24*time.Hour)
	_, ok, err = f.AgentByKey(t.Context(), key)
	require.NoError(t, err)
	require.True(t, ok)
	now = now.Add(24 * time.Hour)
	_, ok, err = f.AgentByKey(t.Context(), key)
	require.NoError(t, err)
	require.False(t, ok)

	forever, err := f.AddAgent(t.Context(), "clerk", nil, 0)
	require.NoError(t, err)
	id, ok, err = f.AgentByKey(t.Context(), forever)
	require.NoError(t, err)
	require.True(t, ok)
	require.Nil(t, id.Processes)
	// Another process revokes it: it is refused at once.
	require.NoError(t, f.Again().RevokeAgent(t.Context(), "clerk"))
	_, ok, err = f.AgentByKey(t.Context(), forever)
	require.NoError(t, err)
	require.False(t, ok)

	// Only a hash of a key is kept.
	for _, name := range []string{"ap.db", "ap.db-wal"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			require.NotContains(t, string(b), key)
			require.NotContains(t, string(b), key[3:20])
		}
	}
}

func TestAnAgentsLastUseIsKeptToTheMinute(t *testing.T) {
	t.Parallel()
	now := servertest.Start
	f := servertest.New(t, func(o *server.Options) { o.RealTime = func() time.Time { return now } })
	key, err := f.AddAgent(t.Context(), "screener", nil, 0)
	require.NoError(t, err)
	lastUsed := func() *time.Time {
		agents, err := f.Agents(t.Context())
		require.NoError(t, err)
		require.Len(t, agents, 1)
		return agents[0].LastUsed
	}
	use := func() {
		_, ok, err := f.AgentByKey(t.Context(), key)
		require.NoError(t, err)
		require.True(t, ok)
	}
	require.Nil(t, lastUsed())
	use()
	require.True(t, lastUsed().Equal(servertest.Start))
	now = now.Add(59 * time.Second)
	use()
	require.True(t, lastUsed().Equal(servertest.Start))
	now = now.Add(time.Second)
	use()
	require.True(t, lastUsed().Equal(servertest.Start.Add(time.Minute)))
}

func TestAgentsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	for _, bad := range []string{"", "a b", "client/mira@example.com", "-x", "é", strings.Repeat("x", 65), "a:b"} {
		_, err := f.AddAgent(t.Context(), bad, nil, 0)
		refusedError(t, err, run.Invalid, bad)
	}
	_, err := f.AddAgent(t.Context(), "x", nil, -time.Second)
	refusedError(t, err, run.Invalid)
	_, err = f.AddAgent(t.Context(), "screener", []string{"revew", "review"}, 0)
	require.Equal(t, []string{`There is no process "revew"; did you mean review?`}, refusedError(t, err, run.NotFound).Issues)
	first, err := f.AddAgent(t.Context(), "screener", nil, 0)
	require.NoError(t, err)
	_, err = f.AddAgent(t.Context(), "screener", nil, 0)
	refusedError(t, err, run.Conflict)
	require.Contains(t, refusedError(t, f.RevokeAgent(t.Context(), "screner"), run.NotFound).Message, "did you mean screener?")
	require.NoError(t, f.RevokeAgent(t.Context(), "screener"))
	refusedError(t, f.RevokeAgent(t.Context(), "screener"), run.Conflict)
	second, err := f.AddAgent(t.Context(), "screener", nil, 0)
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	_, ok, err := f.AgentByKey(t.Context(), first)
	require.NoError(t, err)
	require.False(t, ok, "the old key stays dead")
}

// Groups are the union of the sign-in's and of those added here (design.md 5); e-mails compare case-insensitively.
func TestAPersonIsInTheGroupsOfTheSignInAndThoseAddedHere(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	require.NoError(t, f.AddMembers(t.Context(), "buyers", []string{"Mira@Example.com", "tom@example.com"}))
	require.NoError(t, f.AddMembers(t.Context(), "buyers", []string{"mira@example.com"}))
	id, err := f.Person(t.Context(), " MIRA@example.com ", []string{"editors", "buyers", ""})
	require.NoError(t, err)
	require.Equal(t, server.Identity{Kind: server.Person, Name: "mira@example.com", Groups: []string{"buyers", "editors"}}, id)
	_, err = f.Person(t.Context(), "mira", nil)
	refusedError(t, err, run.Invalid)

	err = f.AddMembers(t.Context(), " ", []string{"x", "a@b.example", "y@"})
	require.Equal(t, []string{"the group's name is blank", "x: not an e-mail address", "y@: not an e-mail address"}, refusedError(t, err, run.Invalid).Issues)
	require.Contains(t, refusedError(t, f.RemoveMembers(t.Context(), "buyer", []string{"mira@example.com"}), run.NotFound).Message, "did you mean buyers?")
	err = f.RemoveMembers(t.Context(), "buyers", []string{"mira@example.com", "tim@example.com"})
	require.Equal(t, []string{"tim@example.com: not in buyers; did you mean tom@example.com?"}, refusedError(t, err, run.NotFound).Issues)
	groups, err := f.Groups(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"buyers": {"mira@example.com", "tom@example.com"}}, groups)
	require.NoError(t, f.RemoveMembers(t.Context(), "buyers", []string{"MIRA@example.com"}))
	id, err = f.Person(t.Context(), "mira@example.com", nil)
	require.NoError(t, err)
	require.Empty(t, id.Groups)
}

func TestAMovedClockKeepsItsPlaceOverARestart(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	clock, err := server.OpenMovableClock(t.Context(), f.DB)
	require.NoError(t, err)
	_, err = clock.Advance(72 * time.Hour)
	require.NoError(t, err)
	again, err := server.OpenMovableClock(t.Context(), f.DB)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(72*time.Hour), again.Now(), time.Minute)
}
