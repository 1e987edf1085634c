// Why a message gets the skill it gets.
import { h } from '../base/dom'
import { t, tn, tParts } from '../base/words'
import { badge, empty } from './parts'

export interface SkillMatch {
  skill: string | null
  phase: 'trigger' | 'keywords' | null
  keywordsNeeded: number
  candidates: { skill: string; trigger: string | null; keywords: string[] }[]
}

function chosen(skill: HTMLElement, { phase, keywordsNeeded }: SkillMatch): (Node | string)[] {
  if (phase === 'trigger') return tParts('{skill} was chosen: one of its triggers is in the message.', { skill })
  const needed = String(keywordsNeeded)
  return tParts('{skill} was chosen: {needed} or more of its keywords are in the message.', { skill, needed })
}

function notChosen({ keywordsNeeded }: SkillMatch): string {
  return tn(
    keywordsNeeded,
    'No skill was chosen. A match needs a trigger, or {n} keyword.',
    'No skill was chosen. A match needs a trigger, or {n} keywords.',
  )
}

export function matchView(match: SkillMatch): HTMLElement {
  const { skill, candidates } = match
  const result = skill ? h('p', {}, ...chosen(badge(skill, 'ok'), match)) : h('p', {}, notChosen(match))
  const rows = candidates.map((candidate) => {
    const words = [candidate.trigger, ...candidate.keywords].filter((word) => word !== null)
    return h(
      'li',
      {},
      h('strong', {}, candidate.skill),
      ': ',
      ...words.flatMap((word) => [h('mark', {}, word), ' ']),
    )
  })
  return h(
    'div',
    { class: 'match' },
    result,
    rows.length > 0
      ? h('ul', { class: 'match-list' }, ...rows)
      : empty(t('No skill has a word in common with it.')),
  )
}
