package run

// Plain returns the state without what it has worked out about its data, to compare states.
func (st *State) Plain() *State {
	c := *st
	c.data = nil
	return &c
}
