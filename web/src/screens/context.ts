// The request that the model would get: the prompt in its layers, the tools, and what it weighs.
import { call } from '../api/client'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import { count } from '../base/time'
import type { App } from '../model/app'
import { payload } from '../views/payload'
import { matchView, type SkillMatch } from './match'
import { facts, lead, screen, section } from './parts'

interface Preview {
  model: string
  match: SkillMatch
  layers: {
    layer: number
    name: string
    author: string
    tokens: number
    isVolatile: boolean
    text: string
  }[]
  tools: { name: string; tokens: number }[]
  hiddenTools: number
  messages: number
  tokens: { prompt: number; tools: number; messages: number; total: number }
  isCompactionDue: boolean
  request: string
}

/** part: the conversation to look at. */
export function contextScreen(app: App, part: string | undefined): HTMLElement {
  const message = input({ dir: 'auto', required: true, value: 'What can you do here?' })
  const conversation = input({ placeholder: 'conv_…', value: part ?? '' })
  const result = h('div', { role: 'status' })
  const submit = async () => {
    const body = { message: message.value, conversationId: conversation.value.trim() || null }
    result.replaceChildren(...draw(await call<Preview>('POST', 'prompt', body)))
  }
  const asked = form(
    [
      field('Message', message),
      field('Conversation (optional)', conversation, 'Its history is sent with the message.'),
    ],
    'Show what would be sent',
    submit,
  )
  const recent = app.conversations.items.slice(0, 3).map(({ id, title, preview }) =>
    textButton(title ?? preview.slice(0, 40), () => {
      conversation.value = id
      asked.requestSubmit()
    }),
  )
  return screen(
    lead('Nothing is sent to the model here. This shows the request that a message would cause.'),
    asked,
    recent.length > 0 && h('div', { class: 'screen-actions' }, ...recent),
    result,
  )
}

function draw(preview: Preview): HTMLElement[] {
  const { tokens } = preview
  return [
    section(
      'Size',
      weights([
        ['Prompt', tokens.prompt],
        ['Tools', tokens.tools],
        ['Messages', tokens.messages],
      ]),
      facts([
        ['Model', preview.model],
        ['Tokens, about', count(tokens.total)],
        ['Messages', count(preview.messages)],
        ['Compaction', preview.isCompactionDue ? 'due with the next message' : 'not due'],
      ]),
    ),
    section('Skill', matchView(preview.match)),
    section('Prompt', ...preview.layers.map((layer) => layerView(layer))),
    section(
      `Tools (${preview.tools.length})`,
      facts(preview.tools.map(({ name, tokens: n }) => [name, `${count(n)} tokens`])),
      preview.hiddenTools > 0 &&
        h(
          'p',
          { class: 'lead' },
          `${count(preview.hiddenTools)} more can be found by the agent when it needs them.`,
        ),
    ),
    section('Request', payload('Request', preview.request)),
  ]
}

function weights(parts: readonly [string, number][]): HTMLElement {
  const most = Math.max(1, ...parts.map(([, n]) => n))
  return h(
    'div',
    { class: 'weights' },
    ...parts.flatMap(([label, n]) => {
      const meter = h('meter', { aria: { label: `${label}: ${count(n)} tokens` } })
      meter.max = most
      meter.value = n
      return [h('span', {}, label), meter, h('span', { class: 'weights-number' }, count(n))]
    }),
  )
}

function layerView({
  layer,
  name,
  author,
  tokens,
  isVolatile,
  text,
}: Preview['layers'][number]): HTMLElement {
  const title = `${layer}. ${name}`
  const meta = `by ${author}, ${count(tokens)} tokens${isVolatile ? ', changes from run to run' : ''}`
  return h(
    'details',
    { class: 'layer' },
    h(
      'summary',
      {},
      h('span', { class: 'layer-name' }, title),
      h('span', { class: 'layer-meta' }, meta),
    ),
    h('pre', { tabindex: 0, aria: { label: title } }, text),
  )
}
