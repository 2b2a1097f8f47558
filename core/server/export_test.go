package server

// RequiredArguments lists the arguments that a call of the tool can't do without.
func RequiredArguments(tool string) []string {
	var names []string
	for _, a := range tools[tool].args {
		if a.required {
			names = append(names, a.name)
		}
	}
	return names
}
