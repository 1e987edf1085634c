// openapi.mjs - the document of the API as a contract: values that fit it, values that do not, and answers beside it.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const Ajv = require('ajv/dist/2020.js').default
const addFormats = require('ajv-formats')

/** All operations: {id, method, path, ...operation}. */
export function operationsOf(document) {
    return Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, op]) => ({ ...op, id: op.operationId, method: method.toUpperCase(), path })))
}

export const follow = (document, value) =>
    value?.$ref ? value.$ref.slice(2).split('/').reduce((at, key) => at[key], document) : value

export const bodySchema = (op) => op.requestBody?.content['application/json']?.schema

/** The smallest value that fits a schema. */
export function sample(document, schema) {
    const s = follow(document, schema)
    if (s.const !== undefined) return s.const
    if (s.enum) return s.enum[0]
    if (s.anyOf) return sample(document, s.anyOf[0])
    const type = Array.isArray(s.type) ? s.type[0] : s.type
    if (type === 'string') return 'x'.repeat(Math.max(s.minLength ?? 1, 1))
    if (type === 'integer' || type === 'number') return s.minimum ?? 1
    if (type === 'boolean') return true
    if (type === 'array') return [sample(document, s.items)]
    if (type === 'object') return Object.fromEntries((s.required ?? []).map((name) => [name, sample(document, s.properties[name])]))
    return 'x'
}

export class Contract {
    constructor(document) {
        // What the document promises is all that there may be: a member without a row fails.
        const closed = structuredClone(document)
        for (const schema of Object.values(closed.components.schemas)) if (schema.properties) schema.additionalProperties = false
        this.document = document
        this.ajv = new Ajv({ strict: false, allErrors: false, validateFormats: true })
        addFormats(this.ajv)
        this.ajv.addSchema({ $id: 'nb', components: closed.components })
        this.known = new Map()
    }

    /** null, or why the value does not fit. */
    problem(schema, value) {
        const key = JSON.stringify(schema)
        let validate = this.known.get(key)
        if (!validate) {
            validate = this.ajv.compile(JSON.parse(key.replaceAll('"$ref":"#/', '"$ref":"nb#/')))
            this.known.set(key, validate)
        }
        if (validate(value)) return null
        const [e] = validate.errors
        return `${e.instancePath || 'the value'} ${e.message} ${JSON.stringify(e.params)}`
    }

    fits(schema, value) {
        return this.problem(schema, value) === null
    }

    /** null, or what is wrong with the answer {status, type, text}. */
    answerProblem(op, { status, type, text }) {
        const declared = follow(this.document, op.responses[status])
        if (!declared) return `${status} is not declared (add it to the errors of the row): ${text.slice(0, 200)}`
        const types = Object.keys(declared.content ?? {})
        if (types.length === 0) return text === '' ? null : `a body, though ${status} has none: ${text.slice(0, 80)}`
        const media = type.split(';')[0]
        if (!types.includes(media)) return types.includes('application/octet-stream') ? null : `${media || 'no type'} instead of ${types}`
        if (media !== 'application/json') return null
        try {
            return this.problem(declared.content[media].schema, JSON.parse(text))
        } catch (error) {
            return error.message
        }
    }

    /** Bodies that do not fit, made from one that does: [what is wrong, text]. */
    wrongBodies(op, valid) {
        const schema = bodySchema(op)
        const list = [['not JSON', '{"a":'], ['a list', '[]'], ['a key twice', '{"a":1,"a":2}']]
        if (!schema?.properties) return list.slice(0, 1)
        const put = (what, change) => list.push([what, JSON.stringify({ ...valid, ...change })])
        if (schema.additionalProperties === false) put('an unknown key', { nonsense: 1 })
        else list.pop() // checked when it is read
        for (const name of schema.required ?? []) {
            const { [name]: _, ...rest } = valid
            list.push([`without ${name}`, JSON.stringify(rest)])
        }
        for (const [name, property] of Object.entries(schema.properties))
            for (const value of [7, 'nonsense', true, [], [7], {}, { x: [] }, null, -1, 1e9, '', 'x'.repeat(2000)])
                if (this.isPlainlyWrong(property, value)) put(`${name}: ${JSON.stringify(value).slice(0, 20)}`, { [name]: value })
        return list
    }

    isPlainlyWrong(schema, value) {
        return Object.keys(schema).some((key) => key !== 'description') && !this.fits(schema, value)
    }
}
