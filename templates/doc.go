// Package templates is what the pages look like: templ components, one file per page or part, and the helpers that put
// times, names and run data into plain words. Everything that agents and people wrote is hostile here: templ escapes
// it, Text isolates its direction, and a link is only ever http, https or mailto.
package templates
