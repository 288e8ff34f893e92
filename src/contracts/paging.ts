/** Keyset paging: every list takes `limit` and `cursor` and answers `next_cursor` while there is more. */
import * as z from 'zod'
import { ServiceError } from './errors.ts'
import { field } from './field.ts'
import { PAGE_DEFAULT, PAGE_MAX } from './limits.ts'
import { readJson } from './read-json.ts'

export const pageInput = {
  limit: field(
    z.coerce.number().int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT).describe('Rows in a page.'),
    { client: 'Rows per page' },
  ),
  // A name of 120 letters takes up to 360 bytes, and with an id beside it 528 letters of base64.
  cursor: field(z.string().max(1000).optional().describe('`next_cursor` of the page before.'), {
    client: { value: 'cursor', summary: 'Continue from this cursor' },
  }),
}

/** Of lists that people page through. */
export const countedPageInput = {
  ...pageInput,
  count: z.stringbool().default(false).describe('Whether to count the rows of all pages as well.'),
}

export const pageOutput = {
  next_cursor: z.string().optional().describe('Pass it as `cursor` for the next page; absent on the last.'),
}

/** Of what may be read from a standby (`mayBeOld`). */
export const ageOutput = {
  age_seconds: z
    .int()
    .optional()
    .describe(
      'How old the answer is at most, if it was read from a standby. What happened since is missing.',
    ),
}

export const countedPageOutput = {
  ...pageOutput,
  total: z
    .number()
    .int()
    .optional()
    .describe('Rows of all pages, if they were to be counted. 10,000 means so many or more.'),
}

/** A cursor is the sort key of the last row seen, nothing more: it grants nothing and survives restarts. */
const writeCursor = (key: readonly string[]): string => Buffer.from(JSON.stringify(key)).toString('base64url')

// Postgres takes every character but NUL.
const Key = z
  .array(
    z
      .string()
      .max(300)
      .regex(/^[^\0]*$/),
  )
  .max(4)

export function readCursor(cursor: string | undefined, parts: number): string[] | undefined {
  if (cursor === undefined) return undefined
  const key = Key.safeParse(readJson(Buffer.from(cursor, 'base64url').toString())).data
  if (key?.length === parts) return key
  throw new ServiceError('INVALID_REQUEST', 'The cursor is not valid', {
    hint: 'Leave `cursor` out to start from the first page.',
  })
}

/** Takes one row more than asked for to know whether there is a next page. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  key: (row: Row) => readonly string[],
): { rows: readonly Row[]; next_cursor?: string } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return rows.length > limit && last ? { rows: shown, next_cursor: writeCursor(key(last)) } : { rows: shown }
}
