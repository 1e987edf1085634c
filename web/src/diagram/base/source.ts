// The source of a diagram: its lines without comments, front matter and directives, and what is written there about all kinds.
import { demand, LINE_MAX, LINES_MAX, SOURCE_MAX } from './limits'
import { plain } from './text'

export interface Source {
  kind: string // the first word
  rest: string // of its line
  body: string // the lines after it
  title: string
  description: string // of the picture, for people who do not see it
}

const FRONT = /^\s*---[^\S\n]*\n([^]*?)\n[^\S\n]*---[^\S\n]*(?:\n|$)/

/** Without %%{ ... }%%. One that does not end stays: its line is a comment. */
function withoutDirectives(text: string): string {
  let kept = ''
  for (let from = 0; ; ) {
    const start = text.indexOf('%%{', from)
    const end = start < 0 ? -1 : text.indexOf('}%%', start)
    if (end < 0) return kept + text.slice(from)
    kept += text.slice(from, start)
    from = end + 3
  }
}

export function readSource(text: string): Source {
  demand(text.length <= SOURCE_MAX)
  const normal = text.replace(/\r\n?|[\u2028\u2029]/g, '\n')
  const front = FRONT.exec(normal)
  const described: string[] = []
  const lines = withoutDirectives(front ? normal.slice(front[0].length) : normal)
    .replace(/^[^\S\n]*accDescr\s*\{([^}]{0,2000})\}/gm, (_, words: string) => (described.push(words), ''))
    .split('\n')
    .filter((line) => !/^\s*%%/.test(line))
    .map((line) => line.trimEnd().replace(/(\S)\s+(?=\S)/g, '$1 '))
  demand(lines.length <= LINES_MAX && lines.every((line) => line.length <= LINE_MAX))
  const named = (word: string) => {
    const at = lines.findIndex((line) => new RegExp(`^\\s*${word}\\s*:`).test(line))
    return at < 0 ? '' : lines.splice(at, 1)[0]!.replace(/^[^:]*:/, '').trim()
  }
  const description = [named('accTitle'), named('accDescr'), ...described].filter(Boolean).join('. ')
  const first = lines.findIndex((line) => line.trim() !== '')
  demand(first >= 0)
  const [, kind, rest] = /^\s*([\w-]+)(.*)$/.exec(lines[first]!) ?? []
  demand(kind)
  const title = /^title:[^\S\n]*(.*)$/m.exec(front?.[1] ?? '')?.[1] ?? ''
  return {
    kind,
    rest: (rest ?? '').trim(),
    body: lines.slice(first + 1).join('\n'),
    title: plain(title.replace(/^'(.*)'$/, '$1')),
    description: plain(description.slice(0, 500)),
  }
}

/** The lines that say something, trimmed, without comments at their end. */
export function linesOf(body: string): string[] {
  return body
    .split('\n')
    .map((line) => line.replace(/\s%%.*$/, '').trim())
    .filter(Boolean)
}
