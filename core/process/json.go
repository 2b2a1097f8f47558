package process

// appendJSON appends the node as JSON: maps in the order written, numbers with their source digits.
func (n *node) appendJSON(b []byte) []byte {
	switch n.kind {
	case nullNode:
		return append(b, "null"...)
	case boolNode, numberNode:
		return append(b, n.text...)
	case textNode:
		return appendString(b, n.text)
	case listNode:
		b = append(b, '[')
		for i, v := range n.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.appendJSON(b)
		}
		return append(b, ']')
	default:
		b = append(b, '{')
		for i, v := range n.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, n.keys[i].text), ':')
			b = v.appendJSON(b)
		}
		return append(b, '}')
	}
}

// appendString appends a JSON string. What RFC 8259 doesn't require to be escaped isn't.
func appendString(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '"' || ch == '\\':
			b = append(b, '\\', ch)
		case ch < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[ch>>4], hex[ch&15])
		default:
			b = append(b, ch)
		}
	}
	return append(b, '"')
}
