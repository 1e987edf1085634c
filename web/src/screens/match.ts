// Why a message gets the skill it gets.
import { h } from '../base/dom'
import { badge, empty } from './parts'

export interface SkillMatch {
  skill: string | null
  phase: 'trigger' | 'keywords' | null
  keywordsNeeded: number
  candidates: { skill: string; trigger: string | null; keywords: string[] }[]
}

export function matchView(match: SkillMatch): HTMLElement {
  const { skill, phase, keywordsNeeded, candidates } = match
  const how =
    phase === 'trigger'
      ? 'one of its triggers is in the message'
      : `${keywordsNeeded} or more of its keywords are in the message`
  const result = skill
    ? h('p', {}, badge(skill, 'ok'), ` was chosen: ${how}.`)
    : h('p', {}, `No skill was chosen. A match needs a trigger, or ${keywordsNeeded} keywords.`)
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
      : empty('No skill has a word in common with it.'),
  )
}
