// The result of a command: its output, what it wrote to stderr, and how it ended.
import { h } from '../base/dom'
import { t } from '../base/words'
import { section } from './section'
import { drawTerminal } from './terminal'

interface Command {
  stdout?: string
  stderr?: string
  exit_code?: number
  exitCode?: number
}

export function isCommand(value: unknown): value is Command {
  if (typeof value !== 'object' || value === null) return false
  const { stdout, stderr, exit_code: plain, exitCode = plain } = value as Record<string, unknown>
  const isText = (v: unknown) => v === undefined || typeof v === 'string'
  return typeof exitCode === 'number' && (stdout ?? stderr) !== undefined && isText(stdout) && isText(stderr)
}

export function drawCommand(label: string, value: Command): HTMLElement {
  const { stdout = '', stderr = '', exit_code: plain, exitCode = plain ?? 0 } = value
  const ended = exitCode === 0 ? t('Exit code 0') : t('Failed with exit code {code}', { code: exitCode })
  const content = h(
    'div',
    { class: 'result-command' },
    stdout !== '' && drawTerminal(stdout, t('Output')),
    stderr !== '' && h('p', { class: 'terminal-label' }, 'stderr'),
    stderr !== '' && drawTerminal(stderr, t('Error output')),
    stdout + stderr === '' && h('p', { class: 'result-note' }, t('No output.')),
    h('p', { class: exitCode === 0 ? 'terminal-end' : 'terminal-end is-bad' }, ended),
  )
  return section(label, content, { copy: () => [stdout, stderr].filter(Boolean).join('\n') })
}
