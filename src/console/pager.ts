/** Below a list: which rows of how many these are, and links to the pages before and after. */
import { html } from 'hono/html'
import { COUNT_MAX, PAGE_DEFAULT } from '../contracts/limits.ts'
import { linkButton } from '../pages/parts.ts'
import type { PageContext } from './context.ts'

type Paged = {
  next_cursor?: string | undefined
  total?: number | undefined
  /** Of what was read from a standby. */
  age_seconds?: number | undefined
}

/** Longer addresses are refused somewhere on the way; older pages are then reached from the first one. */
const BACK_MAX_CHARACTERS = 2_000

/**
 * A cursor leads forward only, so the address also carries the cursors of the pages passed on the way here. "Previous" is
 * thus the page that somebody came from, with the rows it began with, though new ones have arrived at the top meanwhile.
 */
export function pager(
  c: PageContext,
  rows: number,
  { next_cursor, total, age_seconds: age }: Paged,
  name = 'cursor',
) {
  const url = new URL(c.req.url)
  const cursor = c.req.method === 'GET' ? url.searchParams.get(name) : null
  if (cursor === null && rows === 0) return null
  const number = cursor === null ? 1 : pageNumber(url.searchParams.get(`${name}_page`))
  const back = cursor === null ? [] : readBack(url.searchParams.get(`${name}_back`))
  const before = (number - 1) * PAGE_DEFAULT
  // Whoever has come to the end knows how many there were, also where nobody counted.
  const all = next_cursor === undefined ? before + rows : total
  const link = (to: string | undefined, page: number, way: readonly string[]): string => {
    const target = new URL(url)
    for (const key of [name, `${name}_page`, `${name}_back`]) target.searchParams.delete(key)
    if (to !== undefined) target.searchParams.set(name, to)
    if (to !== undefined && page > 2) target.searchParams.set(`${name}_page`, String(page))
    const kept = shorten(way)
    if (kept.length > 0) target.searchParams.set(`${name}_back`, kept.join('.'))
    return target.pathname + target.search
  }
  const previous = back.at(-1)
  const isFar = number > 2 && previous === undefined
  const isOld = age === undefined ? '' : `, up to ${age} ${age === 1 ? 'second' : 'seconds'} old`
  const count = rangeText(before, rows, all) + isOld
  if (cursor === null && next_cursor === undefined) return html`<p class="pager pager-count">${count}</p>`
  const label = name === 'cursor' ? 'Pagination' : `Pagination of ${name.replaceAll('_', ' ')}`
  return html`<nav class="pager" aria-label="${label}">
    <p class="pager-count">${count}</p>
    ${cursor !== null && linkButton(link(previous, number - 1, back.slice(0, -1)), isFar ? 'First page' : 'Previous page', 'quiet')}
    ${next_cursor !== undefined && linkButton(link(next_cursor, number + 1, cursor === null ? [] : [...back, cursor]), 'Next page', 'quiet')}
  </nav>`
}

/** Below a list without pages. */
export const rowCount = (rows: number) =>
  rows > 0 && html`<p class="pager pager-count">${rangeText(0, rows, rows)}</p>`

const NUMBER = new Intl.NumberFormat('en-US')

function rangeText(before: number, rows: number, all: number | undefined): string {
  if (rows === 0) return 'No more rows'
  const count = all === undefined ? undefined : NUMBER.format(all) + (all >= COUNT_MAX ? '+' : '')
  if (before === 0 && all === rows) return `${count} in total`
  const range = `${NUMBER.format(before + 1)}–${NUMBER.format(before + rows)}`
  return count === undefined ? range : `${range} of ${count}`
}

// They stand in an address that people edit: nonsense is ignored, not refused.
const pageNumber = (text: string | null): number =>
  /^[1-9]\d{0,5}$/.test(text ?? '') ? Math.max(2, Number(text)) : 2
const readBack = (text: string | null): string[] =>
  (text ?? '').split('.').filter((one) => /^[\w-]+$/.test(one))

/** Without the oldest. */
function shorten(way: readonly string[]): readonly string[] {
  const isTooLong = way.reduce((sum, { length }) => sum + length + 1, 0) > BACK_MAX_CHARACTERS
  return isTooLong ? shorten(way.slice(1)) : way
}
