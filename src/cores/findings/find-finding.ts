/** A finding by what it is about, for whoever tells the whole story of it. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, sql } from '../../../db/drizzle.ts'
import { findings } from '../../../db/schema.ts'
import type { Finding } from './known-matters.ts'

type App = { readonly orgId: string; readonly id: string }

/** Of several the one that something is to be done about, then the one that was found last. */
async function findNewest(db: Handle, { orgId, id: appId }: App, isIt: SQL): Promise<Finding | undefined> {
  const [row] = await db
    .select()
    .from(findings)
    .where(and(eq(findings.orgId, orgId), eq(findings.appId, appId), isIt))
    .orderBy(sql`${findings.state} in ('open', 'proposed') desc`, desc(findings.lastFoundAt))
    .limit(1)
  return row
}

export const findFinding = (db: Handle, app: App, id: string): Promise<Finding | undefined> =>
  findNewest(db, app, eq(findings.id, id))

export const findFindingByTemplate = (db: Handle, app: App, template: string): Promise<Finding | undefined> =>
  findNewest(db, app, sql`${findings.matter} ->> 'logTemplate' = ${template}`)

/** Of one that cites neither a file nor a log line. */
export const findFindingOfCheck = (db: Handle, app: App, checkId: string): Promise<Finding | undefined> =>
  findNewest(db, app, sql`${findings.matter} ->> 'subject' = ${checkSubject(checkId)}`)

const CHECK_SUBJECT = 'check '
const checkSubject = (checkId: string): string => CHECK_SUBJECT + checkId

/** Null: it is about no check. */
export const checkOfFinding = ({ matter: { subject } }: Pick<Finding, 'matter'>): string | null =>
  subject?.startsWith(CHECK_SUBJECT) === true ? subject.slice(CHECK_SUBJECT.length) : null

/** By app: the newest that something is to be done about. */
export async function findNewestOpen(
  db: Handle,
  orgId: string,
  appIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.execute<{ app_id: string; id: string }>(sql`
    select a.id as app_id, f.id from json_array_elements_text(${JSON.stringify(appIds)}::text::json) as a(id)
    cross join lateral (
      select id from ${findings} where org_id = ${orgId} and app_id = a.id and state in ('open', 'proposed')
      order by id desc limit 1
    ) f`)
  return new Map(rows.map(({ app_id: appId, id }) => [appId, id]))
}
