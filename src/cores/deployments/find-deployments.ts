/** Deployments of an app that somebody looks for by what came of them. */
import type { SQL } from 'drizzle-orm'
import type { Handle } from '../../../db/connect.ts'
import { and, desc, eq, isNotNull, lt, lte, ne } from '../../../db/drizzle.ts'
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
