// The page of the API: what /v1/openapi.json says, for people. A program of its own, which shares nothing
// with the chat's, so that neither has to load a part of the other.
import type { Answer, ApiDocument, Entry, Media, Operation, Parameter, Schema } from './document'
import { answerOf, entriesOf, parameterOf, sampleOf, typeOf } from './document'

type Child = Node | string | null

function el(tag: string, name: string, ...children: Child[]): HTMLElement {
  const made = document.createElement(tag)
  if (name) made.className = name
  made.append(...children.filter((child) => child !== null))
  return made
}

function link(href: string, name: string, ...children: Child[]): HTMLElement {
  const made = el('a', name, ...children)
  made.setAttribute('href', href)
  return made
}

/** Text in which `words` between backquotes are code. */
function prose(tag: string, name: string, text: string): HTMLElement {
  const parts = text.split('`').map((part, i) => (i % 2 === 1 ? el('code', '', part) : part))
  return el(tag, name, ...parts)
}

function typeText(schema: Schema): HTMLElement {
  const pieces = typeOf(schema).map(({ text, model }) =>
    model ? link(`#model-${model}`, 'model', text) : text,
  )
  return el('span', 'type', ...pieces)
}

// ---- tables ----

function row(name: string, isRequired: boolean, schema: Schema, about: string | undefined, where?: string) {
  const mark = isRequired ? el('span', 'required', 'required') : null
  const head = el('th', '', el('code', '', name), mark, where ? el('span', 'where', where) : null)
  head.setAttribute('scope', 'row')
  const text = about ?? schema.description
  return el('tr', '', head, el('td', '', typeText(schema), text ? prose('p', '', text) : null))
}

function membersOf(schema: Schema, prefix = ''): HTMLElement[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => [
    row(prefix + name, schema.required?.includes(name) ?? false, one, undefined),
    ...(one.properties ? membersOf(one, `${prefix}${name}.`) : []),
  ])
}

function table(rows: HTMLElement[]): HTMLElement | null {
  return rows.length > 0 ? el('table', '', el('tbody', '', ...rows)) : null
}

function part(title: string, ...content: Child[]): HTMLElement {
  return el('section', 'part', el('h3', '', title), ...content)
}

// ---- one operation ----

const SCHEMES: Record<string, string> = { token: 'a token', session: 'a login', socket: 'nb.sock' }

function accessText(op: Operation): string {
  if (op.security.length === 0) return 'No credentials are needed.'
  const ways = op.security.flatMap((way) => Object.keys(way)).reverse()
  const access = op['x-access']
  const needs = [
    access.scope === 'open' ? '' : `scope ${access.scope}`,
    access.server === 'member' ? '' : `${access.server} of the server`,
    access.workspace ? `${access.workspace} of the workspace` : '',
    access.conversation ? `right to ${access.conversation}` : '',
  ].filter(Boolean)
  return `With ${ways.map((way) => SCHEMES[way] ?? way).join(', ')}. Needs: ${needs.join(', ')}.`
}

function parametersPart(api: ApiDocument, list: Parameter[]): HTMLElement | null {
  const rows = list
    .map((one) => parameterOf(api, one))
    .map((p) => row(p.name, p.required ?? false, p.schema, p.description, p.in))
  return rows.length > 0 ? part('Parameters', table(rows)) : null
}

function bodyPart(op: Operation): HTMLElement | null {
  if (!op.requestBody) return null
  const { content, required, description } = op.requestBody
  const types = Object.entries(content).map(([type, { schema = {} }]) => {
    const shown = schema.properties ? table(membersOf(schema)) : typeText(schema)
    return el('div', 'media', el('p', 'media-type', type), shown)
  })
  const words = [required ? '' : 'It may be absent.', description ?? ''].filter(Boolean).join(' ')
  return part('Body', words ? el('p', 'hint', words) : null, ...types)
}

function mediaLine(type: string, media: Media): HTMLElement {
  const events = Object.keys(media['x-events'] ?? {})
  const list = events.map((name) => link(`#model-event.${name}`, 'model event', name))
  const isTyped = media.schema && Object.keys(media.schema).length > 0 && events.length === 0
  const shown = isTyped ? typeText(media.schema!) : null
  return el('div', 'media', el('span', 'media-type', type), ' ', shown, el('div', 'events', ...list))
}

function answerRow(api: ApiDocument, status: string, given: Answer): HTMLElement {
  const answer = answerOf(api, given)
  const isError = !/^[23]/.test(status)
  const media = isError ? [] : Object.entries(answer.content ?? {}).map(([t, m]) => mediaLine(t, m))
  const head = el('th', isError ? 'status bad' : 'status', status)
  return el('tr', '', head, el('td', '', prose('p', '', answer.description), ...media))
}

function example(api: ApiDocument, { method, path, op }: Entry): HTMLElement {
  const schema = op.requestBody?.content['application/json']?.schema
  const base = api.servers[0]?.url === '/' ? '' : (api.servers[0]?.url ?? '')
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${location.origin}${base}${path}`]
  if (op.security.length > 0) lines.push('-H "Authorization: Bearer $NB_TOKEN"')
  if (schema) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(sampleOf(api, schema))}'`)
  return part('Example', el('pre', '', el('code', '', lines.join(' \\\n  '))))
}

function details(api: ApiDocument, entry: Entry): HTMLElement {
  const { op } = entry
  const answers = Object.entries(op.responses).filter(([status]) => status !== 'default')
  return el(
    'div',
    'details',
    op.description ? prose('p', '', op.description) : null,
    el('p', 'hint', accessText(op)),
    parametersPart(api, op.parameters),
    bodyPart(op),
    part('Answers', table(answers.map(([status, answer]) => answerRow(api, status, answer)))),
    example(api, entry),
  )
}

/** What is inside is made when it is opened for the first time. */
function operation(api: ApiDocument, entry: Entry): HTMLElement {
  const { method, path, op } = entry
  const summary = el(
    'summary',
    '',
    el('span', `method ${method.toLowerCase()}`, method),
    el('code', 'path', path),
    el('span', 'summary', op.summary),
  )
  const made = el('details', 'operation', summary)
  made.id = op.operationId
  made.dataset.words = `${method} ${path} ${op.operationId} ${op.summary}`.toLowerCase()
  made.addEventListener('toggle', () => {
    if (made.childElementCount === 1) made.append(details(api, entry))
  })
  return made
}

// ---- the page ----

function model(name: string, schema: Schema): HTMLElement {
  const about = schema.description ? prose('p', '', schema.description) : null
  const made = el('section', 'object', el('h3', '', name), about, table(membersOf(schema)))
  made.id = `model-${name}`
  return made
}

function tagSection(api: ApiDocument, tag: { name: string; description: string }): HTMLElement {
  const list = entriesOf(api, tag.name).map((entry) => operation(api, entry))
  const made = el('section', 'tag', el('h2', '', tag.name), prose('p', 'about', tag.description), ...list)
  made.id = anchorOf(tag.name)
  return made
}

const anchorOf = (name: string) => `tag-${name.toLowerCase().replaceAll(' ', '-')}`

function search(main: HTMLElement): HTMLElement {
  const input = el('input', 'filter') as HTMLInputElement
  input.type = 'search'
  input.placeholder = 'Find a route'
  input.setAttribute('aria-label', 'Find a route')
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    for (const one of main.querySelectorAll<HTMLElement>('.operation'))
      one.hidden = !words.every((word) => one.dataset.words!.includes(word))
    for (const tag of main.querySelectorAll<HTMLElement>('.tag'))
      tag.hidden = !tag.querySelector('.operation:not([hidden])')
    main.querySelector<HTMLElement>('.objects')!.hidden = words.length > 0
  })
  return input
}

function navigation(api: ApiDocument, main: HTMLElement): HTMLElement {
  const links = api.tags.map(({ name }) => link(`#${anchorOf(name)}`, '', name))
  const nav = el('nav', '', search(main), ...links, link('#objects', '', 'Objects'))
  nav.setAttribute('aria-label', 'Parts of the API')
  return nav
}

function content(api: ApiDocument): HTMLElement {
  const { info, components } = api
  const objects = Object.entries(components.schemas).map(([name, schema]) => model(name, schema))
  const all = el('section', 'objects', el('h2', '', 'Objects'), ...objects)
  all.id = 'objects'
  return el(
    'main',
    '',
    el('h1', '', `API of ${info.title}`),
    el('p', 'hint', `Version ${info.version}. `, link('./v1/openapi.json', '', 'OpenAPI 3.1 document')),
    ...info.description.split('\n\n').map((text) => prose('p', '', text)),
    ...api.tags.map((tag) => tagSection(api, tag)),
    all,
  )
}

function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target instanceof HTMLDetailsElement) target.open = true
  target?.scrollIntoView()
}

/** The choice that the chat's page has stored ("nb.theme"), else that of the system. */
function chosenTheme(): string | null {
  try {
    return JSON.parse(localStorage.getItem('nb.theme') ?? 'null') as string | null
  } catch {
    return null // storage may be forbidden
  }
}

function followTheme(): void {
  const query = matchMedia('(prefers-color-scheme: dark)')
  const apply = () => {
    const isDark = (chosenTheme() ?? (query.matches ? 'dark' : 'light')) === 'dark'
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light'
  }
  query.addEventListener('change', apply)
  apply()
}

async function start(root: HTMLElement): Promise<void> {
  const answer = await fetch('./v1/openapi.json')
  if (!answer.ok) throw new Error(`The server answered ${answer.status}.`)
  const api = (await answer.json()) as ApiDocument
  const main = content(api)
  root.append(navigation(api, main), main)
  addEventListener('hashchange', openTarget)
  openTarget()
}

followTheme()
const root = document.getElementById('reference')!
start(root).catch((error: Error) => {
  root.append(el('p', 'failed', `The document of the API cannot be loaded. ${error.message}`))
})
