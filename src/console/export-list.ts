/** A list as a file, streamed page by page: the next one is fetched once the previous one is sent, and not after the browser disconnects. */
import { EXPORT_ROWS_MAX } from '../contracts/limits.ts'
import type { PageContext } from './context.ts'
import { csvLine } from './csv.ts'

type Cell = string | number | boolean | null
export type ExportFormat = keyof typeof FORMATS

const CUT = `Only the first ${EXPORT_ROWS_MAX.toLocaleString('en')} rows are in this file. Narrow the filters to export the others.`

/** `head` is the first line; `line` is one row; `cut` is the last line where there are more than fit. */
const FORMATS = {
  csv: {
    type: 'text/csv; charset=utf-8',
    head: csvLine,
    line: (_, cells) => csvLine(cells),
    cut: csvLine([CUT]),
  },
  ndjson: {
    type: 'application/x-ndjson; charset=utf-8',
    head: () => '',
    line: (columns, cells) =>
      `${JSON.stringify(Object.fromEntries(columns.map((name, at) => [name, cells[at]])))}\n`,
    cut: `${JSON.stringify({ truncated: true, message: CUT })}\n`,
  },
} as const satisfies Record<
  string,
  {
    type: string
    head: (columns: readonly string[]) => string
    line: (columns: readonly string[], cells: readonly Cell[]) => string
    cut: string
  }
>

type Exported<Page> = {
  /** Of the file, without day and ending. */
  name: string
  format: ExportFormat
  columns: readonly string[]
  /** Fetched before the response starts, so that a refusal is still an error page. */
  first: Page
  next: (cursor: string) => Promise<Page>
  rowsOf: (page: Page) => readonly (readonly Cell[])[]
}

export function exportList<Page extends { next_cursor?: string | undefined }>(
  c: PageContext,
  { name, format, columns, first, next, rowsOf }: Exported<Page>,
): Response {
  const { type, head, line, cut } = FORMATS[format]
  const encoder = new TextEncoder()
  let page = first
  let left = EXPORT_ROWS_MAX
  const body = new ReadableStream<Uint8Array>({
    start: (file) => file.enqueue(encoder.encode(head(columns))),
    async pull(file) {
      const rows = rowsOf(page)
      const taken = rows.slice(0, left)
      left -= taken.length
      const isCut = left === 0 && (taken.length < rows.length || page.next_cursor !== undefined)
      const lines = taken.map((cells) => line(columns, cells)).join('')
      file.enqueue(encoder.encode(isCut ? lines + cut : lines))
      if (isCut || page.next_cursor === undefined) return file.close()
      page = await next(page.next_cursor)
    },
  })
  const day = c.var.deps.clock().toISOString().slice(0, 10)
  return c.body(body, 200, {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}-${day}.${format}"`,
  })
}
