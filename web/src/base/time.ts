// Dates and durations as people read them, in the language of the page.
import { locale, t } from './words'

const DAY_MS = 86_400_000

/** Formats are slow to make and dates of a list are often of the same day. */
const labels = new Map<string, string>()
const LABELS_MAX = 5000

function startOfDay(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
}

/** "Today", "Yesterday", a weekday within a week, else month and year. */
export function dayLabel(iso: string, now = new Date()): string {
  const key = `${iso.slice(0, 13)} ${startOfDay(now)}` // zones differ by whole hours, nearly all
  const known = labels.get(key)
  if (known !== undefined) return known
  if (labels.size > LABELS_MAX) labels.clear()
  const label = makeDayLabel(iso, now)
  labels.set(key, label)
  return label
}

function makeDayLabel(iso: string, now: Date): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return t('Undated')
  const days = Math.round((startOfDay(now) - startOfDay(date)) / DAY_MS)
  if (days <= 0) return t('Today') // a clock ahead of ours must not show "Tomorrow"
  if (days === 1) return t('Yesterday')
  if (days < 7) return date.toLocaleDateString(locale(), { weekday: 'long' })
  if (days < 31) return t('Last 30 days')
  return date.toLocaleDateString(locale(), { month: 'long', year: 'numeric' })
}

/** The time for today, else the day: short enough for a list. */
export function shortTime(iso: string, now = new Date()): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return ''
  if (startOfDay(date) >= startOfDay(now)) {
    return date.toLocaleTimeString(locale(), { hour: 'numeric', minute: '2-digit' })
  }
  const isThisYear = date.getFullYear() === now.getFullYear()
  return date.toLocaleDateString(locale(), {
    day: 'numeric',
    month: 'short',
    year: isThisYear ? undefined : 'numeric',
  })
}

export function fullTime(iso: string): string {
  const date = new Date(iso)
  if (Number.isNaN(date.getTime())) return ''
  return date.toLocaleString(locale(), { dateStyle: 'medium', timeStyle: 'short' })
}

/** A day of a calendar, "2026-11-30". */
export function dateText(iso: string): string {
  const date = new Date(`${iso}T12:00:00`)
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleDateString(locale(), { dateStyle: 'medium' })
}

export function duration(ms: number): string {
  if (ms < 1) return t('<1 ms')
  if (ms < 1000) return t('{n} ms', { n: Math.round(ms) })
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 }
  if (ms < 60_000) return t('{n} s', { n: (ms / 1000).toLocaleString(locale(), digits) })
  return t('{minutes} min {seconds} s', { minutes: Math.floor(ms / 60_000), seconds: Math.round((ms % 60_000) / 1000) })
}

/** The same in whole seconds. */
export function seconds(ms: number): string {
  const s = Math.round(ms / 1000)
  return s < 60 ? t('{n} s', { n: s }) : t('{minutes} min {seconds} s', { minutes: Math.floor(s / 60), seconds: s % 60 })
}

export function count(n: number): string {
  return n.toLocaleString(locale())
}

/** US dollars, with as many digits as small amounts need. */
export function money(usd: number): string {
  const isSmall = usd > 0 && usd < 0.01
  const digits = isSmall ? { minimumSignificantDigits: 2, maximumSignificantDigits: 2 } : {}
  return usd.toLocaleString(locale(), { style: 'currency', currency: 'USD', ...digits })
}
