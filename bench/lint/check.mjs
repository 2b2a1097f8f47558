// Checks the frontmatter of PROCESS.md files against a JSON Schema, and nothing else.
// usage: node check.mjs SCHEMA FILE...
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import Ajv from 'ajv/dist/2020.js'

const [schema, ...files] = process.argv.slice(2)
const validate = new Ajv({ allErrors: true, strict: false }).compile(JSON.parse(readFileSync(schema, 'utf8')))
let bad = 0
for (const file of files) {
  const [, front] = readFileSync(file, 'utf8').split(/^---\r?\n/m)
  if (!validate(parse(front, { version: '1.2', schema: 'core' }))) {
    console.log(file, validate.errors)
    bad++
  }
}
process.exit(bad ? 1 : 0)
