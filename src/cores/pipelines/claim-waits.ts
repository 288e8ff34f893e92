/**
 * Claims that wait for a run: open requests and nothing else. One look at the database every second serves all of them in
 * a process, and no connection is held in between.
 */
import { sql } from '../../../db/drizzle.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { WAITING_CLAIMS_PER_ORGANIZATION } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'

const LOOK_MS = 1_000

type AppKey = { readonly orgId: string; readonly appId: string }
type Waiting = AppKey & { readonly wake: () => void }

export function createClaimWaits({ db, clock }: Storage, perOrganization = WAITING_CLAIMS_PER_ORGANIZATION) {
  const waiting = new Set<Waiting>()
  let isLooking = false

  async function look(): Promise<void> {
    const at = sql`${clock().toISOString()}::timestamptz`
    const keys = [...waiting].map(({ orgId, appId }) => ({ orgId, appId }))
    const found = await db.execute<AppKey>(sql`
      select distinct k."orgId", k."appId"
      from json_to_recordset(${JSON.stringify(keys)}::text::json) as k("orgId" text, "appId" text)
      where exists (
        select from pipeline_runs r
        where r.org_id = k."orgId" and r.app_id = k."appId" and r.claimable_until > ${at}
      )`)
    const apps = new Set(found.map(nameOf))
    for (const one of waiting) if (apps.has(nameOf(one))) one.wake()
  }

  function keepLooking(): void {
    if (isLooking) return
    isLooking = true
    setTimeout(() => {
      // Each then meets the error itself, and says so to its worker.
      look()
        .catch(() => waiting.forEach(({ wake }) => wake()))
        .finally(() => {
          isLooking = false
          if (waiting.size > 0) keepLooking()
        })
    }, LOOK_MS)
  }

  return {
    /** Until there may be a run, or until `over`. */
    async wait({ orgId, appId }: AppKey, over: AbortSignal): Promise<void> {
      if ([...waiting].filter((one) => one.orgId === orgId).length >= perOrganization) throw tooMany()
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(entry)
          over.removeEventListener('abort', wake)
          resolve()
        }
        const entry = { orgId, appId, wake }
        waiting.add(entry)
        over.addEventListener('abort', wake, { once: true })
        if (over.aborted) wake()
        else keepLooking()
      })
    },
  }
}

const nameOf = ({ orgId, appId }: AppKey): string => `${orgId} ${appId}`

/** Whoever asks without waiting is answered. */
const tooMany = () =>
  new ServiceError('RATE_LIMITED', 'Too many workers of your organization wait for runs here', {
    retryAfterSeconds: 10,
  })
