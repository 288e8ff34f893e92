/** Deployments of an app that somebody looks for by what came of them. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, inArray, isNotNull, lt, lte, ne, sql } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import type { Deployment } from './deployment-rows.ts'

type App = { readonly orgId: string; readonly id: string }

async function findNewest(
  db: Handle,
  { orgId, id: appId }: App,
  ...conditions: SQL[]
): Promise<Deployment | undefined> {
  const [found] = await db
    .select()
    .from(deployments)
    .where(and(eq(deployments.orgId, orgId), eq(deployments.appId, appId), ...conditions))
    .orderBy(desc(deployments.fence))
    .limit(1)
  return found
}

/** What a roll back deploys. */
export async function findEarlier(db: Handle, app: App): Promise<Deployment | undefined> {
  const last = await findNewest(db, app, isNotNull(deployments.startedAt))
  return (
    last &&
    findNewest(
      db,
      app,
      eq(deployments.state, 'succeeded'),
      lt(deployments.fence, last.fence),
      ne(deployments.revisionId, last.revisionId),
    )
  )
}

/** The last that succeeded by then. */
export const findSucceededBy = (db: Handle, app: App, at: Date): Promise<Deployment | undefined> =>
  findNewest(db, app, eq(deployments.state, 'succeeded'), lte(deployments.endedAt, at))

export const findDeployment = (db: Handle, app: App, id: string): Promise<Deployment | undefined> =>
  findNewest(db, app, eq(deployments.id, id))

const summaryOf = ({ id, revisionId, state, requestedBy, requestedAt, endedAt }: Deployment) => ({
  id,
  revision_id: revisionId,
  state,
  requested_by: requestedBy,
  at: (endedAt ?? requestedAt).toISOString(),
})

type Last = { last?: ReturnType<typeof summaryOf>; running?: ReturnType<typeof summaryOf> }

/** By app: the last of all, and the last that succeeded. */
export async function readLastDeployments(
  db: Handle,
  orgId: string,
  appIds: readonly string[],
): Promise<ReadonlyMap<string, Last>> {
  const found = await db.execute<{ id: string }>(sql`
    select d.id from json_array_elements_text(${JSON.stringify(appIds)}::text::json) as a(id)
    cross join lateral (
      (select id from ${deployments} where org_id = ${orgId} and app_id = a.id order by fence desc limit 1)
      union
      (select id from ${deployments} where org_id = ${orgId} and app_id = a.id and state = 'succeeded'
        order by fence desc limit 1)
    ) d`)
  if (found.length === 0) return new Map()
  const ids = found.map(({ id }) => id)
  const rows = await db
    .select()
    .from(deployments)
    .where(and(eq(deployments.orgId, orgId), inArray(deployments.id, ids)))
    .orderBy(desc(deployments.fence))
  const lasts = new Map<string, Last>()
  for (const row of rows) {
    const last = lasts.get(row.appId) ?? { last: summaryOf(row) }
    if (row.state === 'succeeded') last.running ??= summaryOf(row)
    lasts.set(row.appId, last)
  }
  return lasts
}
