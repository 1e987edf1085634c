// What views ask the page to do, checked: links, files, messages. Pure.
import { msg, t } from '../base/words'
import { isObject } from './bridge'

const SCHEMES = ['http:', 'https:', 'mailto:']
const NAME_MAX = 120
const URL_MAX = 4096
// Controls, marks of direction and other formats (but not the joiners of scripts and emoji), tags.
const INVISIBLE = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu
const BLOB = /^[A-Za-z0-9+/\s]*={0,2}\s*$/

export const DOWNLOAD_MAX = 25 * 1024 * 1024

/** A link that may be opened; null: not one of those. */
export function linkOf(url: unknown): URL | null {
  if (typeof url !== 'string' || url.length > URL_MAX) return null
  try {
    const link = new URL(url)
    return SCHEMES.includes(link.protocol) ? link : null
  } catch {
    return null
  }
}

/** A file name without a path, without what no system or person expects in one. */
export function fileNameOf(name: string): string {
  const last = name.split(/[?#]/)[0]!.split(/[/\\]/).filter(Boolean).at(-1) ?? ''
  const clean = decoded(last)
    .replace(/[\p{C}\u2028\u2029"*/:<>?\\|]/gu, '_') // control and invisible characters, separators
    .replace(/^[.\s]+|[.\s]+$/g, '')
  if (clean.length <= NAME_MAX) return clean || 'download'
  const ending = /\.\w{1,10}$/.exec(clean)?.[0] ?? ''
  return clean.slice(0, NAME_MAX - ending.length) + ending
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export interface Download {
  name: string
  /** null: it has to be read from the app's server, by this address. */
  data: BlobPart | null
  uri: string
  size: number
}

/** The files of `ui/download-file`; null: some of it is not one. */
export function downloadsOf(contents: unknown): Download[] | null {
  if (!Array.isArray(contents) || contents.length === 0 || contents.length > 20) return null
  const found = contents.map(downloadOf)
  return found.every((file) => file !== null) ? found : null
}

function downloadOf(item: unknown): Download | null {
  if (!isObject(item)) return null
  if (item.type === 'resource_link' && typeof item.uri === 'string') {
    const name = typeof item.name === 'string' ? item.name : item.uri
    return { name: fileNameOf(name), data: null, uri: item.uri, size: 0 }
  }
  return item.type === 'resource' && isObject(item.resource) ? fileOf(item.resource) : null
}

/** The content of a resource: text, or bytes in base64. */
export function fileOf({ uri, text, blob }: Record<string, unknown>): Download | null {
  if (typeof uri !== 'string') return null
  const name = fileNameOf(uri)
  if (typeof text === 'string') return { name, data: text, uri, size: utf8Length(text) }
  if (typeof blob !== 'string' || blob.length > DOWNLOAD_MAX * 1.4 || !BLOB.test(blob)) return null
  const data = bytesOf(blob)
  return data && { name, data, uri, size: data.length }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  } catch {
    return null
  }
}

/** More than three bytes take two characters. */
function utf8Length(text: string): number {
  return text.length > DOWNLOAD_MAX ? text.length : new TextEncoder().encode(text).length
}

/**
 * The text of `ui/message`, whose content is a list of blocks or one; null: some of it is not text. This is
 * what the person reads and, word for word, what is sent: invisible characters are left out.
 */
export function messageOf({ role = 'user', content }: Record<string, unknown>): string | null {
  const blocks: unknown[] = Array.isArray(content) ? content : [content]
  if (role !== 'user' || blocks.length === 0) return null
  const texts = blocks.map(textOf)
  return texts.every((text) => text !== null) ? texts.join('\n').replace(INVISIBLE, '') : null
}

function textOf(block: unknown): string | null {
  if (!isObject(block)) return null
  const { type, resource } = block
  let text: unknown = null
  if (type === 'text') text = block.text
  else if (type === 'resource_link') text = block.uri
  else if (type === 'resource' && isObject(resource)) text = resource.text
  return typeof text === 'string' ? text : null
}

/** The hosts that the policy of an app lets it contact, each once. */
export function hostsOf(csp: Record<string, string[]>): string[] {
  const lists = [csp.connectDomains, csp.resourceDomains, csp.frameDomains]
  const hosts = lists.flatMap((list = []) => list.map((source) => source.split('/')[2] ?? source))
  return [...new Set(hosts)]
}

/** A height that a frame may take; null: the message makes no sense. */
export function heightOf(height: unknown, max: number): number | null {
  if (typeof height !== 'number' || !(height > 0)) return null
  return Math.min(Math.ceil(height), max)
}

/** By the directive of a policy. */
const LOADS: Record<string, string> = {
  script: msg('This app wanted to load scripts from {origin}, which its author did not declare.'),
  style: msg('This app wanted to load styles from {origin}, which its author did not declare.'),
  img: msg('This app wanted to load pictures from {origin}, which its author did not declare.'),
  font: msg('This app wanted to load fonts from {origin}, which its author did not declare.'),
  media: msg('This app wanted to load media from {origin}, which its author did not declare.'),
  connect: msg('This app wanted to load data from {origin}, which its author did not declare.'),
  frame: msg('This app wanted to load a page from {origin}, which its author did not declare.'),
  child: msg('This app wanted to load a page from {origin}, which its author did not declare.'),
  worker: msg('This app wanted to load workers from {origin}, which its author did not declare.'),
  form: msg('This app wanted to load a form from {origin}, which its author did not declare.'),
  object: msg('This app wanted to load objects from {origin}, which its author did not declare.'),
  base: msg('This app wanted to load a base address from {origin}, which its author did not declare.'),
}
const LOADS_SOMETHING = msg('This app wanted to load something from {origin}, which its author did not declare.')

/** What is not loaded from anywhere: it is in the page itself. */
const RUNS: Record<string, string> = {
  script: msg('This app wanted to run scripts ({uri}), which is not allowed here.'),
  style: msg('This app wanted to run styles ({uri}), which is not allowed here.'),
}
const RUNS_TEXT = msg('This app wanted to run code from text ({uri}), which is not allowed here.')
const RUNS_SOMETHING = msg('This app wanted to run something ({uri}), which is not allowed here.')

/** A breach of the app's own policy, in words. */
export function violationText(directive: string, blockedUri: string): string {
  const kind = directive.split('-')[0]!
  const uri = blockedUri.slice(0, 60)
  const origin = originOf(blockedUri)
  const [loads, runs] = [textFor(LOADS, kind), textFor(RUNS, kind)]
  if (origin !== null) return t(loads ?? LOADS_SOMETHING, { origin })
  if (kind === 'script' && uri === 'eval') return t(RUNS_TEXT, { uri })
  if (loads && !runs) return t(loads, { origin: uri }) // "data", "blob"
  return t(runs ?? RUNS_SOMETHING, { uri })
}

/** The sandbox may say anything, "constructor" too. */
function textFor(texts: Record<string, string>, kind: string): string | undefined {
  return Object.hasOwn(texts, kind) ? texts[kind] : undefined
}

function originOf(uri: string): string | null {
  try {
    const { origin, protocol } = new URL(uri)
    return origin === 'null' ? protocol : origin
  } catch {
    return null
  }
}
