import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { deployments } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { Principal } from '../../contracts/operation.ts'
import { requireAppWriter, requireSourceReader, type App } from '../apps/index.ts'
import type { Directory, WithDirectory } from '../directory/index.ts'
import { read, type Verb } from '../verb.ts'
import { requireRevision } from './find-revision.ts'
import { readBlobs } from './read-blobs.ts'
import type { WithSourceThread } from './source-thread.ts'

export const downloadRevision: Verb<'downloadRevision', WithDirectory & WithSourceThread> = read(
  'principal',
  async ({ db, old = db, principal, directory, sourceThread }, { alias, revision_id }) => {
    const app = await requireDownloader(directory, db, principal, { alias, revision_id })
    const { manifest } = await requireRevision(db, { orgId: app.orgId, appId: app.id }, revision_id)
    return sourceThread.inTurn(app.orgId, async () => {
      const hashes = manifest.map(([, sha256]) => sha256)
      const contents = await readBlobs(old, app.orgId, hashes)
      // What has a hash never changes; a standby may only not have it yet.
      if (hashes.some((sha256) => !contents.has(sha256))) throw notFound()
      const files = manifest.map(([path, sha256, , executable]) => ({
        path,
        content: contents.get(sha256)!,
        isExecutable: executable === 1,
      }))
      return { body: await sourceThread.pack(files) }
    })
  },
)

/** decisions, 13: a runner gets the revision that it has claimed, for as long as it runs; any other does not exist for it. */
async function requireDownloader(
  directory: Directory,
  db: Handle,
  principal: Principal,
  { alias, revision_id }: { alias: string; revision_id: string },
): Promise<App> {
  if (!principal.app) return requireSourceReader(directory, db, principal, alias)
  const app = await requireAppWriter(directory, db, principal, alias)
  const [claimed] = await db
    .select({ id: deployments.id })
    .from(deployments)
    .where(
      and(
        eq(deployments.orgId, app.orgId),
        eq(deployments.appId, app.id),
        eq(deployments.revisionId, revision_id),
        eq(deployments.state, 'running'),
      ),
    )
  if (!claimed) throw notFound()
  return app
}
