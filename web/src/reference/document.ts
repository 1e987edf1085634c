// The document of the API (/v1/openapi.json), as far as its page reads it.

export interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  enum?: (string | null)[]
  const?: string
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}

export interface Media {
  schema?: Schema
  'x-events'?: Record<string, Schema>
}

export interface Parameter {
  $ref?: string
  name: string
  in: string
  required?: boolean
  description?: string
  schema: Schema
}

export interface Answer {
  $ref?: string
  description: string
  content?: Record<string, Media>
}

export interface Operation {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { description?: string; required: boolean; content: Record<string, Media> }
  responses: Record<string, Answer>
  security: Record<string, string[]>[]
  'x-access': Record<'scope' | 'server' | 'workspace' | 'conversation' | 'tokens', string>
}

export interface ApiDocument {
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Answer>
    parameters: Record<string, Parameter>
    securitySchemes: Record<string, { description: string }>
  }
}

export interface Entry {
  method: string
  path: string
  op: Operation
}

export function entriesOf(document: ApiDocument, tag: string): Entry[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, op]) => op.tags[0] === tag)
      .map(([method, op]) => ({ method: method.toUpperCase(), path, op })),
  )
}

const lastPart = (address: string) => address.slice(address.lastIndexOf('/') + 1)

export function parameterOf(document: ApiDocument, parameter: Parameter): Parameter {
  return parameter.$ref
    ? (document.components.parameters[lastPart(parameter.$ref)] ?? parameter)
    : parameter
}

export function answerOf(document: ApiDocument, answer: Answer): Answer {
  return answer.$ref ? (document.components.responses[lastPart(answer.$ref)] ?? answer) : answer
}

/** Pieces of a type in short: text, and names of models. */
export function typeOf(schema: Schema): { text: string; model?: string }[] {
  if (schema.$ref) return [{ text: lastPart(schema.$ref), model: lastPart(schema.$ref) }]
  if (schema.const !== undefined) return [{ text: `"${schema.const}"` }]
  if (schema.enum) return [{ text: schema.enum.map((v) => JSON.stringify(v)).join(' | ') }]
  if (schema.anyOf)
    return schema.anyOf.flatMap((one, i) => (i > 0 ? [{ text: ' | ' }, ...typeOf(one)] : typeOf(one)))
  if (schema.items) return [...typeOf(schema.items), { text: '[]' }]
  if (typeof schema.additionalProperties === 'object')
    return [{ text: 'values by name: ' }, ...typeOf(schema.additionalProperties)]
  const types = [schema.type ?? 'any'].flat().join(' | ')
  return [{ text: types + rangeOf(schema) }]
}

function rangeOf({ minimum, maximum, minLength, maxLength, format }: Schema): string {
  const from = minimum ?? minLength
  const to = maximum ?? maxLength
  if (format) return ` (${format})`
  if (from === undefined && to === undefined) return ''
  if (to === undefined) return ` (${from} or more)`
  return ` (${from ?? 0} to ${to})`
}

/** The smallest body: what is required. */
export function sampleOf(document: ApiDocument, schema: Schema): unknown {
  const known = schema.$ref ? document.components.schemas[lastPart(schema.$ref)] : schema
  if (!known) return {}
  if (known.const !== undefined) return known.const
  if (known.enum) return known.enum[0]
  if (known.anyOf?.[0]) return sampleOf(document, known.anyOf[0])
  const type = [known.type ?? 'object'].flat()[0]
  if (type === 'string') return '...'
  if (type === 'integer' || type === 'number') return known.minimum ?? 1
  if (type === 'boolean') return true
  if (type === 'array') return []
  const names = known.required ?? Object.keys(known.properties ?? {}).slice(0, 1)
  return Object.fromEntries(names.map((n) => [n, sampleOf(document, known.properties?.[n] ?? {})]))
}
