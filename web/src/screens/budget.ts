// The budget of the month: how much of it is used, and a form for those who set it.
import { getBudgets, setBudgets, type Budget, type Budgets } from '../api/budgets'
import { textButton } from '../base/controls'
import { openDialog } from '../base/dialog'
import { h } from '../base/dom'
import { field, form, input } from '../base/form'
import { money } from '../base/time'
import type { App } from '../model/app'
import { people } from '../model/people'
import { lead, Loading, section } from './parts'

export function budgetPart(_app: App): HTMLElement {
  const loading: Loading<Budgets> = new Loading(getBudgets, (budgets) => {
    const { personal, workspace, limits, isCounting } = budgets
    const isSet = personal.state !== 'unlimited' || workspace.state !== 'unlimited'
    if (!isSet && !limits) return []
    const edit = limits && textButton('Change the budget', () => openEditor(budgets, (next) => loading.show(next)), { icon: 'edit' })
    return [
      section(
        'Budget of this month',
        !isSet && lead('There is no limit. Admins of the workspace can set one.'),
        isCounting && lead('The logs of this month are still being read.'),
        meter('You', personal),
        meter('Workspace', workspace),
        edit && h('div', { class: 'form-buttons' }, edit),
      ),
    ]
  })
  return loading.element
}

const WORDS: Record<Budget['state'], string> = {
  unlimited: '',
  ok: '',
  warning: 'more than 80 % is used',
  stopped: 'used up: no model is called until it is raised or the next month begins',
}

function meter(label: string, { state, limitUsd, spentUsd }: Budget): HTMLElement | null {
  if (state === 'unlimited') return null
  const hasAmounts = typeof limitUsd === 'number' && spentUsd !== undefined
  const bar = h('meter', { class: `budget-meter is-${state}`, aria: { label: `Budget: ${label}` } })
  bar.max = 1
  bar.value = hasAmounts ? Math.min(1, limitUsd > 0 ? spentUsd / limitUsd : 1) : 0
  const amounts = hasAmounts ? `${money(spentUsd)} of ${money(limitUsd)}` : ''
  return h(
    'div',
    { class: 'budget' },
    h('span', { class: 'budget-label' }, label),
    hasAmounts && bar,
    h('span', {}, [amounts, WORDS[state]].filter(Boolean).join(', ') || 'within the budget'),
  )
}

function amountField(label: string, value: number | null | undefined, hint = ''): { element: HTMLElement; read(): number | null } {
  const box = input({ type: 'number', value: value === null || value === undefined ? '' : String(value), placeholder: 'no limit' })
  box.min = '0'
  box.step = 'any'
  return { element: field(label, box, hint), read: () => (box.value.trim() === '' ? null : Number(box.value)) }
}

function openEditor({ limits }: Budgets, onSaved: (budgets: Budgets) => void): void {
  const dialog = openDialog('Budget of each month')
  const workspace = amountField('Workspace, in US dollars', limits?.workspaceUsd, 'All members together. Empty: no limit.')
  const person = amountField('Each person, in US dollars', limits?.personUsd, 'For everybody who has no amount below.')
  const own = [...people.value.values()].map(({ id, displayName }) => ({ id, ...amountField(displayName, limits?.people[id]) }))
  const submit = async () => {
    const amounts = Object.fromEntries(own.map(({ id, read }) => [id, read()]))
    onSaved(await setBudgets({ workspaceUsd: workspace.read(), personUsd: person.read(), people: amounts }))
    dialog.close()
  }
  const single = own.length > 1 ? [h('details', {}, h('summary', {}, 'Single people'), ...own.map(({ element }) => element))] : []
  dialog.body.append(form([workspace.element, person.element, ...single], 'Save', submit))
}
