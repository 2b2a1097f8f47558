package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// AddMembers adds e-mails to a group; one that is in it already stays.
func (s *Server) AddMembers(ctx context.Context, group string, emails []string) error {
	if issues := memberIssues(group, emails); len(issues) > 0 {
		return invalid("Nobody was added", issues...)
	}
	return s.admin(ctx, func(w Writer) error {
		for _, email := range emails {
			if err := w.AddMember(group, NormalEmail(email)); err != nil {
				return fmt.Errorf("adding %s to %s: %w", email, group, err)
			}
		}
		return nil
	})
}

// RemoveMembers takes e-mails out of a group, all or, where one of them isn't in it, none.
func (s *Server) RemoveMembers(ctx context.Context, group string, emails []string) error {
	return s.admin(ctx, func(w Writer) error {
		groups, err := w.Groups()
		if err != nil {
			return fmt.Errorf("listing groups: %w", err)
		}
		members, ok := groups[group]
		if !ok {
			names := make([]string, 0, len(groups))
			for name := range groups {
				names = append(names, name)
			}
			return notFound("There is no group %q%s", shown(group), suggestion(group, names))
		}
		var issues []string
		for _, email := range emails {
			if !slices.Contains(members, NormalEmail(email)) {
				issues = append(issues, fmt.Sprintf("%s: not in %s%s", shown(email), group, suggestion(NormalEmail(email), members)))
			}
		}
		if len(issues) > 0 {
			return refusal(run.NotFound, "Nobody was removed", issues...)
		}
		for _, email := range emails {
			if err := w.RemoveMember(group, NormalEmail(email)); err != nil && !errors.Is(err, ErrNotFound) {
				return fmt.Errorf("removing %s from %s: %w", email, group, err)
			}
		}
		return nil
	})
}

func memberIssues(group string, emails []string) []string {
	var issues []string
	if problem := nameProblem(group); problem != "" {
		issues = append(issues, "the group's name "+problem)
	}
	for _, email := range emails {
		if !process.IsEmail(NormalEmail(email)) {
			issues = append(issues, shown(email)+": not an e-mail address")
		}
	}
	return issues
}

// Groups lists every group with its members.
func (s *Server) Groups(ctx context.Context) (map[string][]string, error) {
	var groups map[string][]string
	err := s.store.Read(ctx, func(r Reader) (err error) {
		groups, err = r.Groups()
		return err
	})
	return groups, storeError(err)
}

// Person returns the identity of an e-mail: its groups are those given (from a sign-in) and those it was added to.
func (s *Server) Person(ctx context.Context, email string, groups []string) (Identity, error) {
	email = NormalEmail(email)
	if !process.IsEmail(email) {
		return Identity{}, invalid("A person is known by an e-mail address", fmt.Sprintf("%q: not an e-mail address", shown(email)))
	}
	id := Identity{Kind: Person, Name: email}
	err := s.store.Read(ctx, func(r Reader) error {
		added, err := r.GroupsOf(email)
		if err != nil {
			return fmt.Errorf("reading the groups of %s: %w", email, err)
		}
		id.Groups = append(slices.Clone(groups), added...)
		return nil
	})
	slices.Sort(id.Groups)
	id.Groups = slices.DeleteFunc(slices.Compact(id.Groups), func(g string) bool { return strings.TrimSpace(g) == "" })
	return id, storeError(err)
}
