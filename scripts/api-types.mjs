// api-types.mjs DOCUMENT - the models of the API (nb openapi) as TypeScript, on standard output.
//
// web/src/api/schema.ts is what this prints: build/nb openapi | node scripts/api-types.mjs - > web/src/api/schema.ts
// tests/checks/test_api_types.mjs fails when it is out of date.
import fs from 'node:fs'

const [file = '-'] = process.argv.slice(2)
const { components } = JSON.parse(fs.readFileSync(file === '-' ? 0 : file, 'utf8'))

const nameOf = (address) => address.slice(address.lastIndexOf('/') + 1)
const literal = (value) => (value === null ? 'null' : `'${value}'`)

function wordOf(type) {
    return { integer: 'number', array: 'unknown[]', object: 'Record<string, unknown>' }[type] ?? type
}

function typeOf(schema) {
    if (schema.$ref) return nameOf(schema.$ref)
    if (schema.const !== undefined) return literal(schema.const)
    if (schema.enum) return schema.enum.map(literal).join(' | ')
    if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ')
    if (schema.items) {
        const item = typeOf(schema.items)
        return item.includes(' | ') ? `(${item})[]` : `${item}[]`
    }
    if (schema.additionalProperties) return `Record<string, ${typeOf(schema.additionalProperties)}>`
    return schema.type === undefined ? 'unknown' : [schema.type].flat().map(wordOf).join(' | ')
}

function member(name, schema, isRequired) {
    const about = schema.description ? `  /** ${schema.description} */\n` : ''
    const key = /^\w+$/.test(name) ? name : `'${name}'`
    return `${about}  ${key}${isRequired ? '' : '?'}: ${typeOf(schema)}\n`
}

function model([name, schema]) {
    const about = `/** ${schema.description} */\n`
    if (!schema.properties) return `${about}export type ${name} = Record<string, unknown>\n`
    const members = Object.entries(schema.properties).map(([key, value]) => member(key, value, schema.required.includes(key)))
    return `${about}export interface ${name} {\n${members.join('')}}\n`
}

const models = Object.entries(components.schemas).filter(([name]) => !name.startsWith('event.'))
process.stdout.write(
    '// Printed by scripts/api-types.mjs from `nb openapi`: answers of the API. Do not edit.\n\n' + models.map(model).join('\n'),
)
