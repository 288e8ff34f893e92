import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { apps } from '../../../db/schema.ts'
import { readSettings } from '../maintenance/index.ts'
import type { AppKey } from '../revisions/index.ts'
import type { ChangeRules } from './prepare-change.ts'

export async function readChangeRules(db: Handle, { orgId, appId }: AppKey): Promise<ChangeRules> {
  const { protectedPaths, allowedClasses } = await readSettings(db, orgId)
  const [app] = await db
    .select({ runnerCommands: apps.runnerCommands })
    .from(apps)
    .where(and(eq(apps.orgId, orgId), eq(apps.id, appId)))
  return { globs: protectedPaths, allowed: allowedClasses, runnerCommands: app?.runnerCommands ?? [] }
}
