// The budget of the month: how much of it is used, and a form for those who set it.
import { getBudgets, setBudgets, type Budget, type Budgets } from '../api/budgets'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import { money } from '../base/time'
import { msg, t } from '../base/words'
import type { App } from '../model/app'
import { people } from '../model/people'
import { lead, Loading, section } from './parts'

export function budgetPart(_app: App): HTMLElement {
  const loading: Loading<Budgets> = new Loading(getBudgets, (budgets) => {
    const { personal, workspace, limits, isCounting } = budgets
    const isSet = personal.state !== 'unlimited' || workspace.state !== 'unlimited'
    if (!isSet && !limits) return []
    const open = () => openEditor(budgets, (next) => loading.show(next))
    const edit = limits && textButton(isSet ? t('Change the budget') : t('Set a budget'), open, { icon: 'edit' })
    return [
      section(
        t('Budget of this month'),
        !isSet && lead(t('There is no limit on what may be spent on models.')),
        isCounting && lead(t('The logs of this month are still being read.')),
        meter(t('You'), personal),
        meter(t('Workspace'), workspace),
        edit && h('div', { class: 'screen-actions' }, edit),
      ),
    ]
  })
  return loading.element
}

/** Alone, and with the amounts for those who may see them. */
const WORDS: Record<Exclude<Budget['state'], 'unlimited'>, readonly [plain: string, withAmounts: string]> = {
  ok: [msg('within the budget'), msg('{spent} of {limit}')],
  warning: [msg('more than 80% is used'), msg('{spent} of {limit}, more than 80% is used')],
  stopped: [
    msg('used up: no model is called until it is raised or the next month begins'),
    msg('{spent} of {limit}, used up: no model is called until it is raised or the next month begins'),
  ],
}

function meter(label: string, { state, limitUsd, spentUsd }: Budget): HTMLElement | null {
  if (state === 'unlimited') return null
  const hasAmounts = typeof limitUsd === 'number' && spentUsd !== undefined
  const bar = h('meter', { class: `budget-meter is-${state}`, aria: { label: t('Budget: {whose}', { whose: label }) } })
  bar.max = 1
  bar.value = hasAmounts ? Math.min(1, limitUsd > 0 ? spentUsd / limitUsd : 1) : 0
  const [plain, withAmounts] = WORDS[state]
  return h(
    'div',
    { class: 'budget' },
    h('span', { class: 'budget-label' }, label),
    hasAmounts && bar,
    h('span', {}, hasAmounts ? t(withAmounts, { spent: money(spentUsd), limit: money(limitUsd) }) : t(plain)),
  )
}

function amountField(label: string, value: number | null | undefined, hint = ''): { element: HTMLElement; read(): number | null } {
  const box = input({ type: 'number', value: value === null || value === undefined ? '' : String(value), placeholder: t('no limit') })
  box.min = '0'
  box.step = 'any'
  return { element: field(label, box, hint), read: () => (box.value.trim() === '' ? null : Number(box.value)) }
}

function openEditor({ limits }: Budgets, onSaved: (budgets: Budgets) => void): void {
  const dialog = openDialog(t('Budget of each month'))
  const workspace = amountField(t('Workspace, in US dollars'), limits?.workspaceUsd, t('All members together. Empty: no limit.'))
  const person = amountField(t('Each person, in US dollars'), limits?.personUsd, t('For everybody who has no amount below.'))
  const own = [...people.value.values()].map(({ id, displayName }) => ({ id, ...amountField(displayName, limits?.people[id]) }))
  const submit = async () => {
    const amounts = Object.fromEntries(own.map(({ id, read }) => [id, read()]))
    onSaved(await setBudgets({ workspaceUsd: workspace.read(), personUsd: person.read(), people: amounts }))
    dialog.close()
  }
  const single = own.length > 1 ? [h('details', {}, h('summary', {}, t('Single people')), ...own.map(({ element }) => element))] : []
  dialog.body.append(form([workspace.element, person.element, ...single], t('Save'), submit))
}
