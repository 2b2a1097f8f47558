package process

import (
	"fmt"
	"strings"
	"sync"
)

// The map's look is one table: for each class its properties, in light and dark. Elements carry the light values as
// presentation attributes, so that a drawing without a style sheet is whole, and the style sheet overrides them.

type mapRule struct {
	class string
	props []mapProp
}

// mapProp is a property with its value in light and dark; an empty dark is the same.
type mapProp struct{ name, light, dark string }

const mapFont = `system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif`

const (
	inkLight, inkDark     = "#1c2430", "#e8ecf1"
	quietLight, quietDark = "#4d5764", "#b1bac5"
)

var mapRules = []mapRule{
	{"map-back", []mapProp{{"fill", "#ffffff", "#14171a"}}},
	{"map-lane", []mapProp{{"fill", "#f6f7f9", "#1a1e22"}, {"stroke", "#d5d9df", "#39414a"}}},
	{"map-lane-odd", []mapProp{{"fill", "#eceff3", "#21262c"}}},
	{"map-lane-title", []mapProp{{"fill", inkLight, inkDark}, {"font-size", "13px", ""}, {"font-weight", "600", ""}}},
	{"map-lane-note", []mapProp{{"fill", quietLight, quietDark}, {"font-size", "11px", ""}}},

	{"map-card", []mapProp{{"fill", "#ffffff", "#2a3037"}, {"stroke", "#6b7684", "#8a95a3"}, {"stroke-width", "1.5", ""}}},
	{"map-icon", []mapProp{{"fill", "none", ""}, {"stroke", quietLight, quietDark}, {"stroke-width", "1.5", ""}, {"stroke-linecap", "round", ""}, {"stroke-linejoin", "round", ""}}},
	{"map-agent", []mapProp{{"stroke", "#0b6e63", "#5cc9b8"}}},
	{"map-person", []mapProp{{"stroke", "#8a4b00", "#f0b062"}}},
	{"map-wait", []mapProp{{"stroke", "#2456c2", "#8fb2ff"}}},
	{"map-end", []mapProp{{"stroke", inkLight, inkDark}, {"stroke-width", "2.5", ""}}},
	{"map-parallel", []mapProp{{"stroke", "#5b3fa8", "#b9a4ff"}}},
	{"map-kind", []mapProp{{"fill", quietLight, quietDark}, {"font-size", "11px", ""}}},
	{"map-title", []mapProp{{"fill", inkLight, inkDark}, {"font-size", "14px", ""}, {"font-weight", "600", ""}}},
	{"map-detail", []mapProp{{"fill", quietLight, quietDark}, {"font-size", "12px", ""}}},

	{"map-line", []mapProp{{"fill", "none", ""}, {"stroke", quietLight, quietDark}, {"stroke-width", "1.5", ""}}},
	{"map-rejected", []mapProp{{"stroke", "#b3261e", "#ff9a90"}, {"stroke-dasharray", "6 4", ""}}},
	{"map-timeout", []mapProp{{"stroke", "#2456c2", "#8fb2ff"}, {"stroke-dasharray", "2 4", ""}, {"stroke-linecap", "round", ""}}},
	{"map-arrow", []mapProp{{"fill", quietLight, quietDark}}},
	{"map-arrow-rejected", []mapProp{{"fill", "#b3261e", "#ff9a90"}}},
	{"map-arrow-timeout", []mapProp{{"fill", "#2456c2", "#8fb2ff"}}},
	{"map-bar", []mapProp{{"fill", "#5b3fa8", "#b9a4ff"}}},
	{"map-label", []mapProp{{"fill", inkLight, inkDark}, {"font-size", "12px", ""}}},
	{"map-label-back", []mapProp{{"fill", "#ffffff", "#2a3037"}, {"stroke", "#c3c9d1", "#4a535e"}, {"stroke-width", "1", ""}}},

	{"map-current", []mapProp{{"fill", "none", ""}, {"stroke", "#0a58ca", "#7fb0ff"}, {"stroke-width", "3", ""}}},
	{"map-badge", []mapProp{{"fill", "#e7eaee", "#3a424b"}, {"stroke", "none", ""}}},
	{"map-badge-text", []mapProp{{"fill", inkLight, inkDark}, {"font-size", "10px", ""}, {"font-weight", "600", ""}}},
	{"map-badge-ready", []mapProp{{"fill", "#d7e5ff", "#1f3d73"}}},
	{"map-badge-claimed", []mapProp{{"fill", "#cdeeea", "#0f4f49"}}},
	{"map-badge-waiting", []mapProp{{"fill", "#ffe8c2", "#5c3b00"}}},
	{"map-badge-done", []mapProp{{"fill", "#d5efd8", "#1d4f27"}}},
	{"map-badge-failed", []mapProp{{"fill", "#ffd9d5", "#6b1d17"}}},
}

// MapCSS is the style sheet of a map that SVG drew with Embedded: plain rules on classes under .ap-map, dark where the
// reader prefers it. A page that shows such a map serves it among its own styles.
func MapCSS() string { return mapStyles().css }

// mapLook is what the table comes to.
type mapLook struct {
	css string
	// of lists the properties of each class, light.
	of map[string][]mapProp
}

var mapStyles = sync.OnceValue(func() mapLook {
	look := mapLook{of: map[string][]mapProp{}}
	var light, dark strings.Builder
	fmt.Fprintf(&light, ".ap-map{font-family:%s}\n", mapFont)
	for _, r := range mapRules {
		look.of[r.class] = r.props
		fmt.Fprintf(&light, ".ap-map .%s{", r.class)
		var changed []string
		for i, p := range r.props {
			if i > 0 {
				light.WriteByte(';')
			}
			fmt.Fprintf(&light, "%s:%s", p.name, p.light)
			if p.dark != "" {
				changed = append(changed, p.name+":"+p.dark)
			}
		}
		light.WriteString("}\n")
		if len(changed) > 0 {
			fmt.Fprintf(&dark, ".ap-map .%s{%s}\n", r.class, strings.Join(changed, ";"))
		}
	}
	look.css = light.String() + "@media (prefers-color-scheme: dark){\n" + dark.String() + "}\n"
	return look
})

// styled is the class attribute for some classes and their light properties as presentation attributes, later
// classes over earlier ones.
func styled(classes ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `class="%s"`, strings.Join(classes, " "))
	props := map[string]string{}
	var order []string
	for _, c := range classes {
		for _, p := range mapStyles().of[c] {
			if _, ok := props[p.name]; !ok {
				order = append(order, p.name)
			}
			props[p.name] = p.light
		}
	}
	for _, name := range order {
		fmt.Fprintf(&b, ` %s="%s"`, name, strings.TrimSuffix(props[name], "px"))
	}
	return b.String()
}
