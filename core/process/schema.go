package process

import "encoding/json"

// schema is a JSON Schema (draft 2020-12), or a part of one.
type schema map[string]any

// JSONSchema returns a JSON Schema (draft 2020-12) of the frontmatter, made from the tables that the rules are made
// from. It refuses nothing that Parse accepts. What it can't express, where steps lead above all, Parse refuses alone.
func JSONSchema() []byte {
	s := mapSchema(rootKeys)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Frontmatter of a PROCESS.md"
	s["$defs"] = schema{
		"requires": mapSchema(requiresKeys),
		"step":     stepSchema(),
		"next":     schema{"anyOf": []schema{idSchema, listSchema(schema{"anyOf": []schema{idSchema, ref("route")}}, 2)}},
		"route":    mapSchema(routeKeys),
		"fields":   schema{"type": "object", "propertyNames": schema{"minLength": 1}, "additionalProperties": ref("field")},
		"field":    schema{"anyOf": []schema{ref("type"), fieldSchema()}},
		"type":     enumSchema(typeNames()...),
		"duration": schema{"type": "string", "pattern": durationPattern},
		"path":     schema{"type": "string", "pattern": `^(` + pathPattern + `)$`},
		"check":    schema{"anyOf": []schema{textSchema, listSchema(ref("question"), 1)}},
		"question": questionSchema(),
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("process: the JSON Schema: " + err.Error())
	}
	return b
}

// pathPattern is the form of a path; a field's name may hold anything.
const pathPattern = `inputs\.[\s\S]+|steps\.[\s\S]+?\.output\.[\s\S]+`

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
	personSchema      = schema{"type": "string", "pattern": `^([^.]*[^.\s][^.]*|` + pathPattern + `)$`}
	probabilitySchema = schema{"type": "number", "minimum": 0, "maximum": 1}
)

// mapSchema is the schema of a map with a table of keys.
func mapSchema(table []key) schema {
	properties := schema{}
	required := []string{}
	for _, k := range table {
		property := schema{"description": k.means}
		for name, value := range k.schema {
			property[name] = value
		}
		properties[k.name] = property
		if k.required && k.on == nil {
			required = append(required, k.name)
		}
	}
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// stepSchema adds that a step has exactly one kind, and what each kind takes.
func stepSchema() schema {
	s := mapSchema(stepKeys)
	var one, rules []schema
	for _, kind := range kinds {
		one = append(one, schema{"required": []string{string(kind)}})
		required := []string{}
		for i := range stepKeys {
			if k := &stepKeys[i]; k.required && k.on != nil && k.takes(kind) {
				required = append(required, k.name)
			}
		}
		then := schema{"propertyNames": enumSchema(stepFields(kind)...), "required": required}
		if kind != Agent && kind != Task {
			then["properties"] = schema{"next": schema{"type": "string"}}
		}
		rules = append(rules, schema{"if": schema{"required": []string{string(kind)}}, "then": then})
	}
	s["oneOf"], s["allOf"] = one, rules
	s["dependentRequired"] = schema{"advisory": []string{"check"}}
	return s
}

// fieldSchema adds what a field's type says about its other keys.
func fieldSchema() schema {
	s := mapSchema(fieldKeys)
	values := map[Type]schema{
		String: {"type": "string"}, Number: {"type": "number"}, Boolean: {"type": "boolean"},
		Date: {"type": "string"}, Datetime: {"type": "string"}, Person: {"type": "string"},
	}
	var rules []schema
	for _, t := range types {
		then := schema{}
		if t != List {
			then["items"] = false
		}
		if v, ok := values[t]; ok {
			then["one_of"] = schema{"items": v}
		} else {
			then["one_of"] = false
		}
		rules = append(rules, schema{
			"if":   schema{"properties": schema{"type": schema{"const": t}}, "required": []string{"type"}},
			"then": schema{"properties": then},
		})
	}
	s["allOf"] = rules
	return s
}

// questionSchema adds what each kind of question takes.
func questionSchema() schema {
	s := mapSchema(questionKeys)
	has := func(name string) schema { return schema{"required": []string{name}} }
	choice := schema{"required": []string{"pass"}, "properties": schema{"levels": false, "fail": false, "pass": listSchema(schema{"type": "string"}, 0)}}
	rubric := schema{"required": []string{"pass"}, "properties": schema{"fail": false, "unsure": false,
		"pass": schema{"type": "integer", "minimum": 0, "maximum": maxLevels - 1}}}
	yesNo := schema{"properties": schema{"unsure": false, "confidence": false, "pass": probabilitySchema}}
	s["if"], s["then"] = has("one_of"), choice
	s["else"] = schema{"if": has("levels"), "then": rubric, "else": yesNo}
	return s
}
