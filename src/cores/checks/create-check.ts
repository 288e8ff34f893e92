import { and, eq, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { apps, checks } from '../../../db/schema.ts'
import { CHECKS_PER_APP } from '../../contracts/checks.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { requireAppWriter } from '../apps/index.ts'
import { write, type Verb } from '../verb.ts'
import { presentCheck } from './check-rows.ts'
import type { ChecksDeps } from './checks-deps.ts'
import { storeDefinition } from './stored-definition.ts'

export const NAME_TAKEN = { checks_by_name: 'The app already has a check with this name' }

export const createCheck: Verb<'createCheck', ChecksDeps> = write(
  { audit: 'check.created', taken: NAME_TAKEN },
  async ({ tx, clock, member, orgId, directory, dataKeys, judge, audit }, { alias, ...asked }) => {
    const app = await requireAppWriter(directory, tx, member, alias)
    // One after the other, so that two do not both become the last that fits.
    await tx
      .select({ id: apps.id })
      .from(apps)
      .where(and(eq(apps.orgId, orgId), eq(apps.id, app.id)))
      .for('update')
    const [existing] = await tx
      .select({ n: sql<number>`count(*)::int` })
      .from(checks)
      .where(and(eq(checks.orgId, orgId), eq(checks.appId, app.id)))
    if (existing!.n >= CHECKS_PER_APP)
      throw new ServiceError('CONFLICT', `An app may have ${CHECKS_PER_APP} checks`)
    const now = clock()
    const id = makeId('chk', now.getTime())
    const [check] = await tx
      .insert(checks)
      .values({
        orgId,
        id,
        appId: app.id,
        name: asked.name,
        ...storeDefinition(dataKeys, { orgId, id }, asked.definition),
        intervalSeconds: asked.interval_seconds,
        failureThreshold: asked.failure_threshold,
        successThreshold: asked.success_threshold,
        enabled: asked.enabled,
        maintenanceWindows: asked.maintenance_windows,
        nextRunAt: asked.enabled ? now : null,
        createdAt: now,
      })
      .returning()
    await notify(tx, 'checks')
    await audit('check.created', `${alias}: ${asked.name}`)
    return presentCheck({ judge, db: tx }, check!, { now })
  },
)
