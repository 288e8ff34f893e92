/** Pages of organizations are in the order of their names. */
import { and, eq, gt, or } from '../../../db/drizzle.ts'
import { organizations } from '../../../db/schema.ts'
import { readCursor } from '../../contracts/paging.ts'

type Row = typeof organizations.$inferSelect

export const nameKey = (row: Row) => [row.name, row.id]

export function afterName(cursor: string | undefined) {
  const [name, id] = readCursor(cursor, 2) ?? []
  if (name === undefined || id === undefined) return undefined
  return or(gt(organizations.name, name), and(eq(organizations.name, name), gt(organizations.id, id)))
}
