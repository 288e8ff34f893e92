/** People know a thing by its name, and the server by its id. */
import { ServiceError } from '../contracts/errors.ts'

type Named = { readonly name: string }
type Page<Row> = { readonly rows: readonly Row[]; readonly next_cursor?: string | undefined }

export async function findByName<Row extends Named>(
  what: string,
  wanted: string,
  readPage: (cursor: string | undefined) => Promise<Page<Row>>,
): Promise<Row> {
  let cursor: string | undefined
  do {
    const page = await readPage(cursor)
    const found = page.rows.find(({ name }) => name === wanted)
    if (found) return found
    cursor = page.next_cursor
  } while (cursor !== undefined)
  throw new ServiceError('NOT_FOUND', `No ${what} is named ${wanted}`)
}

/** As the server makes them; without zod, which the client does not load. */
export const isIdOf = (prefix: string, text: string): boolean =>
  new RegExp(`^${prefix}_[0-9a-z]{25}$`).test(text)
