/** A run that a person starts. It waits for an agent runner, and holds the app from now on. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { maintenanceRuns } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { MAINTENANCE_STARTS_PER_APP } from '../../contracts/limits.ts'
import type { RunMode } from '../../contracts/outcomes.ts'
import { sha256 } from '../../trust/keyed-hash.ts'
import type { App } from '../apps/index.ts'
import { notifyChange } from '../changes/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import type { MemberPrincipal } from '../principal.ts'
import { throttle } from '../throttle.ts'
import { write, type Verb } from '../verb.ts'
import { manualRunFrom } from './cool-down.ts'
import { requireAppMaintenance } from './maintenance-access.ts'
import { countEvidence, isRunOfApp, presentRun, type Run } from './run-rows.ts'
import {
  lockSettings,
  lockSwitch,
  maintenanceOff,
  type Settings,
  type WithMaintenanceModels,
} from './settings-rows.ts'

export const startMaintenanceRun: Verb<'startMaintenanceRun', WithDirectory & WithMaintenanceModels> = write(
  { author: 'admin', audit: 'maintenance.run_started' },
  async (
    { tx, clock, member, orgId, principal, directory, maintenanceModels, audit },
    { alias, mode, idempotency_key },
  ) => {
    const { app, readsSource } = await requireAppMaintenance({ directory }, tx, principal, alias)
    const settings = await lockSettings(tx, orgId, 'share')
    if (!settings.enabled) throw maintenanceOff()
    const present = async (run: Run, replayed: boolean) => {
      const evidence = await countEvidence(tx, [run])
      const shown = { alias, evidenceRead: evidence.get(run.id) ?? 0, readsSource }
      return { ...presentRun(run, shown), replayed }
    }
    const key = idempotency_key === undefined ? null : sha256(idempotency_key)
    const earlier = await findByKey(tx, app, key)
    if (earlier) return present(earlier, true)
    const isOn = (await lockSwitch(tx, app, 'share'))?.enabled ?? false
    if (!isOn) throw appOff()
    requireModel(settings, maintenanceModels)
    const now = clock()
    const wanted = { app, settings, member, mode, key, now }
    await throttle({ db: tx, clock }, `maintenance-starts:${app.id}`, MAINTENANCE_STARTS_PER_APP)
    const queued = await insertRun(tx, wanted)
    if (queued) await requireCooledDown(tx, wanted)
    const created = queued ?? (await insertSkipped(tx, wanted))
    // Somebody with the same key came first, at this moment.
    if (!created) return present((await findByKey(tx, app, key))!, true)
    await audit('maintenance.run_started', `${alias}: ${created.id}`)
    return present(created, false)
  },
)

async function findByKey(tx: Transaction, app: App, key: string | null): Promise<Run | undefined> {
  if (key === null) return undefined
  const [run] = await tx
    .select()
    .from(maintenanceRuns)
    .where(and(isRunOfApp(app), eq(maintenanceRuns.idempotencyKey, key)))
  return run
}

type Wanted = {
  readonly app: App
  readonly settings: Settings
  readonly member: MemberPrincipal
  readonly mode: RunMode
  readonly key: string | null
  readonly now: Date
}

const rowOf = ({ app, settings, member, mode, key, now }: Wanted) => ({
  orgId: app.orgId,
  id: makeId('exec', now.getTime()),
  appId: app.id,
  mode,
  // Also of a machine agent: who could have asked through it is read when somebody decides.
  requestedById: member.userId,
  requestedBy: member.userName,
  via: member.entryPoint,
  idempotencyKey: key,
  model: settings.model!,
  createdAt: now,
})

/** Undefined: another run holds the app, or has this key. */
async function insertRun(tx: Transaction, wanted: Wanted): Promise<Run | undefined> {
  const [run] = await tx
    .insert(maintenanceRuns)
    .values({ ...rowOf(wanted), status: 'queued' })
    .onConflictDoNothing()
    .returning()
  if (!run) return undefined
  await notify(tx, 'maintenance')
  await notifyChange(tx, 'maintenance', run)
  return run
}

/** Once it holds the app: a run that ended at this very moment counts, because the insert has waited for its end. */
async function requireCooledDown(tx: Transaction, { app, settings, now }: Wanted): Promise<void> {
  const from = await manualRunFrom(tx, app, settings, now)
  if (from) throw coolingDown(settings, from, now)
}

async function insertSkipped(tx: Transaction, wanted: Wanted): Promise<Run | undefined> {
  const [run] = await tx
    .insert(maintenanceRuns)
    .values({
      ...rowOf(wanted),
      status: 'ended',
      terminalCode: 'skipped',
      reason: 'ANOTHER_RUN',
      endedAt: wanted.now,
    })
    .onConflictDoNothing()
    .returning()
  return run
}

function requireModel(
  { model }: Settings,
  maintenanceModels: WithMaintenanceModels['maintenanceModels'],
): void {
  if (maintenanceModels.some(({ name }) => name === model)) return
  throw new ServiceError('CONFLICT', 'The maintenance model of the organization is not configured any more', {
    hint: 'Choose another model in the maintenance settings of the organization.',
  })
}

const appOff = () =>
  new ServiceError('CONFLICT', 'The maintenance agent is off for this app', {
    hint: 'An owner or admin can turn it on in the maintenance settings of the app.',
  })

function coolingDown({ cooldownHours }: Settings, from: Date, now: Date): ServiceError {
  const hours = cooldownHours === 1 ? 'an hour' : `${cooldownHours} hours`
  return new ServiceError(
    'CONFLICT',
    `Runs that people start are ${hours} apart; the next may start at ${from.toISOString()}`,
    { retryAfterSeconds: Math.ceil((from.getTime() - now.getTime()) / 1000) },
  )
}
