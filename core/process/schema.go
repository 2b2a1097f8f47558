package process

// schema is a JSON Schema (draft 2020-12), or a part of one.
type schema map[string]any

func ref(name string) schema { return schema{"$ref": "#/$defs/" + name} }

func listSchema(items schema, atLeast int) schema {
	s := schema{"type": "array", "items": items}
	if atLeast > 0 {
		s["minItems"] = atLeast
	}
	return s
}

func uniqueSchema(items schema, atLeast int) schema {
	s := listSchema(items, atLeast)
	s["uniqueItems"] = true
	return s
}

func enumSchema(values ...string) schema { return schema{"enum": values} }

var (
	nameSchema        = schema{"type": "string", "pattern": namePattern, "maxLength": maxNameLength}
	idSchema          = schema{"type": "string", "pattern": idPattern}
	textSchema        = schema{"type": "string", "pattern": `\S`}
	personSchema      = schema{"type": "string", "pattern": `\S`}
	probabilitySchema = schema{"type": "number", "minimum": 0, "maximum": 1}
)
