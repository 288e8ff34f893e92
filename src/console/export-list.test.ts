import { expect, test } from 'vitest'
import { EXPORT_ROWS_MAX, PAGE_MAX } from '../contracts/limits.ts'
import type { PageContext } from './context.ts'
import { exportList, type ExportFormat } from './export-list.ts'

type Page = { readonly rows: readonly (readonly [number])[]; readonly next_cursor?: string }

const context = {
  var: { deps: { clock: () => new Date('2026-11-15T00:00:00Z') } },
  body: (body: ReadableStream, status: number, headers: Record<string, string>) =>
    new Response(body, { status, headers }),
} as unknown as PageContext

/** The lines of a file of so many rows, and how many pages were read for it. */
async function exported(format: ExportFormat, total: number) {
  let pages = 0
  const pageFrom = (start: number): Page => {
    pages += 1
    const end = Math.min(start + PAGE_MAX, total)
    const rows = Array.from({ length: end - start }, (_, at) => [start + at] as const)
    return { rows, ...(end < total && { next_cursor: String(end) }) }
  }
  const response = exportList(context, {
    name: 'numbers',
    format,
    columns: ['n'],
    first: pageFrom(0),
    next: async (cursor) => pageFrom(Number(cursor)),
    rowsOf: ({ rows }: Page) => rows,
  })
  return { lines: (await response.text()).trim().split(/\r?\n/), pages: () => pages }
}

test.each(['csv', 'ndjson'] as const)('%s has as many rows as fit, and then says so', async (format) => {
  const head = format === 'csv' ? 1 : 0
  const all = await exported(format, EXPORT_ROWS_MAX)
  expect(all.lines).toHaveLength(head + EXPORT_ROWS_MAX)
  expect(all.lines.at(-1)).not.toContain('Only')
  const { lines, pages } = await exported(format, EXPORT_ROWS_MAX + 1_000)
  expect(lines).toHaveLength(head + EXPORT_ROWS_MAX + 1)
  expect(lines.at(-2)).toContain(String(EXPORT_ROWS_MAX - 1))
  expect(lines.at(-1)).toContain('Only the first 100,000 rows')
  expect(pages()).toBe(EXPORT_ROWS_MAX / PAGE_MAX)
})
