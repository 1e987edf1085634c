// The request that the model would get: the prompt in its layers, the tools, and what it weighs.
import { call } from '../api/client'
import { textButton } from '../base/controls'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import { count } from '../base/time'
import { t, tn } from '../base/words'
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
  const message = input({ dir: 'auto', required: true, value: t('What can you do here?') })
  const conversation = input({ placeholder: 'conv_…', value: part ?? '' })
  const result = h('div', { role: 'status' })
  const submit = async () => {
    const body = { message: message.value, conversationId: conversation.value.trim() || null }
    result.replaceChildren(...draw(await call<Preview>('POST', 'prompt', body)))
  }
  const asked = form(
    [
      field(t('Message'), message),
      field(t('Conversation (optional)'), conversation, t('Its history is sent with the message.')),
    ],
    t('Show what would be sent'),
    submit,
  )
  const recent = app.conversations.items.slice(0, 3).map(({ id, title, preview }) =>
    textButton(title ?? preview.slice(0, 40), () => {
      conversation.value = id
      asked.requestSubmit()
    }),
  )
  return screen(
    lead(t('Nothing is sent to the model here. This shows the request that a message would cause.')),
    asked,
    recent.length > 0 && h('div', { class: 'screen-actions is-below' }, h('span', {}, t('Recent conversations:')), ...recent),
    result,
  )
}

function draw(preview: Preview): HTMLElement[] {
  const { tokens } = preview
  return [
    section(
      t('Size'),
      weights([
        [t('Prompt'), tokens.prompt],
        [t('Tools'), tokens.tools],
        [t('Messages'), tokens.messages],
      ]),
      facts([
        [t('Model'), preview.model],
        [t('Tokens, about'), count(tokens.total)],
        [t('Messages'), count(preview.messages)],
        [t('Compaction'), preview.isCompactionDue ? t('due with the next message') : t('not due')],
      ]),
    ),
    section(t('Skill'), matchView(preview.match)),
    section(t('Prompt'), ...preview.layers.map((layer) => layerView(layer))),
    section(
      t('Tools ({n})', { n: preview.tools.length }),
      facts(preview.tools.map(({ name, tokens: n }) => [name, tn(n, '{n} token', '{n} tokens')])),
      preview.hiddenTools > 0 &&
        h(
          'p',
          { class: 'lead' },
          tn(
            preview.hiddenTools,
            '{n} more can be found by the agent when it needs it.',
            '{n} more can be found by the agent when it needs them.',
          ),
        ),
    ),
    section(t('Request'), payload(t('Request'), preview.request)),
  ]
}

function weights(parts: readonly [string, number][]): HTMLElement {
  const most = Math.max(1, ...parts.map(([, n]) => n))
  return h(
    'div',
    { class: 'weights' },
    ...parts.flatMap(([label, n]) => {
      const meter = h('meter', { aria: { label: tn(n, '{part}: {n} token', '{part}: {n} tokens', { part: label }) } })
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
  const meta = isVolatile
    ? tn(tokens, 'by {author}, {n} token, changes from run to run', 'by {author}, {n} tokens, changes from run to run', { author })
    : tn(tokens, 'by {author}, {n} token', 'by {author}, {n} tokens', { author })
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
