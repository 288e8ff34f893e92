/**
 * What people call the things that notifications are about. Read when somebody looks, for who may see the notification and so
 * its page: no message carries them.
 */
import type { Handle } from '../../../../db/connect.ts'
import { sql } from '../../../../db/drizzle.ts'

/** By the kind that a subject begins with: the table, and the column that people fill in. */
const NAMED = {
  checks: 'name',
  integrations: 'name',
  pipelines: 'name',
  proposals: 'title',
  tickets: 'title',
} as const

type Kind = keyof typeof NAMED

export async function subjectNames(
  db: Handle,
  orgId: string,
  rows: readonly { readonly subject: string }[],
): Promise<ReadonlyMap<string, string>> {
  const ids = Map.groupBy(
    [...new Set(rows.map(({ subject }) => subject))],
    (subject) => subject.split('/', 1)[0]!,
  )
  const kinds = (Object.keys(NAMED) as Kind[]).filter((kind) => ids.has(kind))
  if (kinds.length === 0) return new Map()
  const found = kinds.map((kind) => {
    const wanted = JSON.stringify(ids.get(kind)!.map((subject) => subject.slice(kind.length + 1)))
    return sql`select ${`${kind}/`}::text || t.id as subject, t.${sql.identifier(NAMED[kind])} as name
      from json_array_elements_text(${wanted}::text::json) as wanted
      join ${sql.identifier(kind)} t on t.org_id = ${orgId} and t.id = wanted`
  })
  const named = await db.execute<{ subject: string; name: string }>(sql.join(found, sql` union all `))
  return new Map(named.map(({ subject, name }) => [subject, name]))
}
