/** Apps with revisions that can be deployed, for tests that are not about source. */
import { apps, revisions } from '../../db/schema.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { unique, type Org } from './make.ts'
import type { TestSystem } from './system.ts'

export async function makeApp(
  { db, clock }: Pick<TestSystem, 'db' | 'clock'>,
  org: Pick<Org, 'id'>,
  alias = unique('app'),
) {
  const createdAt = clock.now()
  const id = makeId('app', createdAt.getTime())
  await db.insert(apps).values({ orgId: org.id, id, alias, name: alias, createdAt })
  return { orgId: org.id, id, alias }
}

/** Without files: its id is what deployments need. */
export async function makeRevision(
  { db, clock }: Pick<TestSystem, 'db' | 'clock'>,
  app: { orgId: string; id: string },
): Promise<string> {
  const pushedAt = clock.now()
  const id = makeId('rev', pushedAt.getTime())
  await db.insert(revisions).values({
    orgId: app.orgId,
    id,
    appId: app.id,
    treeSha256: id,
    manifest: [],
    files: 0,
    bytes: 0,
    manifestBytes: 2,
    pushedByName: 'somebody',
    pushedAt,
  })
  return id
}
