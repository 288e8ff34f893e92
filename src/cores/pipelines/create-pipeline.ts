import { and, count, eq } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { apps, pipelines } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { PIPELINES_PER_APP } from '../../contracts/limits.ts'
import { requireAppWriter } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { write, type Verb } from '../verb.ts'
import { presentPipeline } from './pipeline-rows.ts'
import { dueAfter, requireSchedule } from './schedule-of.ts'

export const createPipeline: Verb<'createPipeline', WithDirectory> = write(
  {
    by: 'principal',
    audit: 'pipeline.created',
    taken: { pipelines_by_name: 'The app has a pipeline of this name already' },
  },
  async ({ tx, clock, principal, directory, audit }, { alias, name, ...settings }) => {
    const app = await requireAppWriter(directory, tx, principal, alias)
    const { orgId } = app
    const now = clock()
    requireSchedule(settings, now)
    // Locked, so that two do not both become the last one.
    await tx
      .select({ id: apps.id })
      .from(apps)
      .where(and(eq(apps.orgId, orgId), eq(apps.id, app.id)))
      .for('update')
    const [existing] = await tx
      .select({ n: count() })
      .from(pipelines)
      .where(and(eq(pipelines.orgId, orgId), eq(pipelines.appId, app.id)))
    if (existing!.n >= PIPELINES_PER_APP) {
      throw new ServiceError('CONFLICT', `An app may have at most ${PIPELINES_PER_APP} pipelines`)
    }
    const [created] = await tx
      .insert(pipelines)
      .values({
        orgId,
        id: makeId('ppl', now.getTime()),
        appId: app.id,
        name,
        cron: settings.cron,
        timezone: settings.timezone,
        graceMinutes: settings.grace_minutes,
        timeoutMinutes: settings.timeout_minutes,
        concurrency: settings.concurrency,
        enabled: settings.enabled,
        nextDueAt: dueAfter(settings, now),
        told: [],
        createdAt: now,
      })
      .returning()
    await notify(tx, 'schedules')
    await audit('pipeline.created', `${alias}: ${name}`)
    return presentPipeline(created!, [])
  },
)
