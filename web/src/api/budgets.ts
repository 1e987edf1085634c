// What may be spent on models in a month.
import { call, get } from './client'
import type { Budgets } from './schema'

export type { Budget, Budgets } from './schema'

export interface BudgetChange {
  workspaceUsd?: number | null
  personUsd?: number | null
  people?: Record<string, number | null>
}

export const getBudgets = (): Promise<Budgets> => get('budgets')

export const setBudgets = (change: BudgetChange): Promise<Budgets> => call('PUT', 'budgets', change)
