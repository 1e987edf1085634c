// The parts of an answer: text, thinking, tool calls, questions.
import { h, setText, type Keyed } from '../base/dom'
import { icon } from '../base/icons'
import { seconds } from '../base/time'
import { t } from '../base/words'
import { MarkdownView } from '../markdown/view'
import type { AskBlock, Block, InputBlock, TextBlock, ToolsBlock } from '../model/items'
import { AskView } from './ask'
import { InputView, type OnInput } from './input'
import type { RunActions } from './run'
import { ToolsView } from './tools'

export interface BlockView extends Keyed {
  update(block: Block, isGrowing: boolean): void
}

export function newBlockView(block: Block, actions: RunActions): BlockView {
  switch (block.kind) {
    case 'text':
      return new TextView()
    case 'thinking':
      return new ThinkingView()
    case 'tools': {
      const view = new ToolsView(actions.nested)
      return { element: view.element, update: (b) => view.update(b as ToolsBlock) }
    }
    case 'ask': {
      const view = new AskView(actions)
      return { element: view.element, update: (b) => view.update(b as AskBlock) }
    }
    case 'input': {
      const answer: OnInput = (action, content) => actions.onInput(block, action, content)
      const view = new InputView(answer, actions.otherName, actions.noAnswer)
      return { element: view.element, update: (b) => view.update(b as InputBlock) }
    }
  }
}

export class TextView implements BlockView {
  readonly markdown = new MarkdownView()
  readonly element = this.markdown.element

  update(block: Block, isGrowing: boolean): void {
    this.markdown.update((block as TextBlock).text, isGrowing)
  }
}

function thought(ms: number | undefined): string {
  if (ms === undefined) return t('Thinking')
  return ms < 1000 ? t('Thought for a moment') : t('Thought for {time}', { time: seconds(ms) })
}

/** Closed until somebody wants to read it, and drawn only then. */
class ThinkingView implements BlockView {
  #markdown = new MarkdownView()
  #label = h('span', {}, t('Thinking'))
  #block: TextBlock | null = null
  #isGrowing = false
  readonly element = h(
    'details',
    { class: 'thinking', on: { toggle: () => this.#draw() } },
    h('summary', {}, icon('chevron'), this.#label),
    this.#markdown.element,
  )

  update(block: Block, isGrowing: boolean): void {
    this.#block = block as TextBlock
    this.#isGrowing = isGrowing
    this.element.classList.toggle('is-growing', isGrowing)
    setText(this.#label, isGrowing ? t('Thinking…') : thought(this.#block.ms))
    this.#draw()
  }

  #draw(): void {
    if (this.element.open && this.#block) this.#markdown.update(this.#block.text, this.#isGrowing)
  }
}
