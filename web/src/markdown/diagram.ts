// Diagrams: a block of mermaid is drawn by a part of the page that is loaded with the first of them. Until then, while the
// block grows, and where it cannot be read, its source is shown. That part imports nothing of the first load, which would
// be cut in two; it gets what it needs.
import { iconButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { drawIcon } from '../base/icons'
import { save } from '../base/save'
import { loadStylesheet } from '../base/stylesheet'
import { t } from '../base/words'

const kit = { drawIcon, h, iconButton, loadStylesheet, openDialog, save, t }
export type Kit = typeof kit

const LANGUAGES = ['mermaid', 'mmd']
const wanted = new WeakMap<HTMLElement, string>()
let part: typeof import('../diagram/figure') | null = null

/** A block of code has this text. */
export function settleDiagram(figure: HTMLElement, language: string, text: string, isGrowing: boolean): void {
  if (!LANGUAGES.includes(language.toLowerCase())) return
  wanted.set(figure, isGrowing ? '' : text)
  if (part) part.show(figure, wanted.get(figure)!, kit)
  else if (!isGrowing) void draw(figure)
}

async function draw(figure: HTMLElement): Promise<void> {
  try {
    part = await import('../diagram/figure')
    part.show(figure, wanted.get(figure)!, kit)
  } catch {
    // the source stays
  }
}
