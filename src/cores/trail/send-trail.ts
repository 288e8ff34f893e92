/**
 * Sends the sealed trail on: the next page of whichever stream is due, under its lease. A page counts as sent once it was taken;
 * until then it is sent again, so a receiver may see a row twice and never misses one.
 */
import { and, eq, sql } from '../../../db/drizzle.ts'
import { trailStreams } from '../../../db/schema.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { OpenAnswers } from '../../trust/open-answers.ts'
import type { Storage } from '../dependencies.ts'
import { signWebhook, type ChannelPorts, type Outcome } from '../notifications/index.ts'
import { claimFirst, fewestFirst, leased, notAhead } from '../work/index.ts'
import { otlpLogs } from './otlp-logs.ts'
import { readEvents } from './stream-trail.ts'
import { openTarget, type TrailStreamRow } from './trail-stream-rows.ts'

export type SendTrailDeps = Storage & {
  readonly dataKeys: DataKeys
  readonly channels: Pick<ChannelPorts, 'webhook'>
  readonly answers?: Pick<OpenAnswers, 'during'>
}

/** Longer than a request may take. */
const lease = leased(trailStreams, {
  heldBy: ['orgId', 'id', 'leaseToken'],
  holder: 'leaseToken',
  until: 'leaseUntil',
  seconds: 120,
})

const EVENTS_AT_ONCE = 500
/** Seals come once a minute. */
const REST_MS = 30_000
const RETRY_MS = { first: 5_000, most: 15 * 60_000 }
/** How many that are due are looked at: others may be taking the first. */
const CANDIDATES = 20

/** False: none is due, or others have them all. */
export async function sendTrail(deps: SendTrailDeps): Promise<boolean> {
  const stream = await claimStream(deps)
  if (!stream) return false
  const sending = () => sendPage(deps, stream)
  // The receipt of an organization waits for what is on its way.
  await (deps.answers ? deps.answers.during([stream.orgId], sending) : sending())
  return true
}

/** The next page of whoever holds it. */
export async function sendPage(deps: SendTrailDeps, stream: TrailStreamRow): Promise<void> {
  const { db, clock } = deps
  const after = { epoch: stream.afterEpoch, row: stream.afterRow }
  const isHeld = lease.isHeld(stream)
  const now = clock()
  let page: Awaited<ReturnType<typeof readEvents>>
  let outcome: Outcome | undefined
  try {
    page = await readEvents(db, stream.orgId, { after, limit: EVENTS_AT_ONCE })
    // A break begins another epoch, and is told at once; other seals without rows go with the next rows.
    if (page.events.length > 0 || page.next.epoch !== after.epoch) outcome = await send(deps, stream, page)
  } catch {
    // Such as an address that was sealed with another DATA_KEY: the other streams go on.
    await lease.release(db, isHeld, failed(stream, now, { problem: 'cannot be prepared' }))
    return
  }
  if (!outcome) {
    const { epoch: afterEpoch, row: afterRow } = page.next
    // Where retention has deleted rows, it goes on behind them at once.
    const restMs = afterRow === stream.afterRow ? REST_MS : 0
    await lease.release(db, isHeld, { afterEpoch, afterRow, nextAt: new Date(now.getTime() + restMs) })
    return
  }
  if (outcome.kind === 'sent') {
    // At once for the next page, behind the other streams that are due.
    await lease.release(db, isHeld, {
      afterEpoch: page.next.epoch,
      afterRow: page.next.row,
      nextAt: now,
      sentAt: now,
      failures: 0,
      problem: null,
    })
  } else {
    const problem = outcome.kind === 'refused' ? outcome.reason : 'no answer'
    const askedMs = outcome.kind === 'refused' ? (outcome.retryAfterSeconds ?? 0) * 1000 : 0
    await lease.release(db, isHeld, failed(stream, now, { problem, askedMs }))
  }
}

function failed(
  { failures }: TrailStreamRow,
  now: Date,
  { problem, askedMs = 0 }: { readonly problem: string; readonly askedMs?: number },
) {
  const waitMs = Math.min(RETRY_MS.first * 2 ** Math.min(failures, 20), RETRY_MS.most)
  return {
    failures: failures + 1,
    problem,
    nextAt: new Date(now.getTime() + Math.min(Math.max(waitMs, askedMs), RETRY_MS.most)),
  }
}

/** One of an organization at a time: receivers of one that are slow do not keep those of others waiting. */
export async function claimStream({ db, clock }: Storage): Promise<TrailStreamRow | undefined> {
  const isDue = sql`${trailStreams.nextAt} <= ${notAhead(clock())}`
  const isAlone = sql`not exists (select from trail_streams other where other.org_id = trail_streams.org_id
    and other.id <> trail_streams.id and ${lease.isLive('other')})`
  const due = await db.execute<{ orgId: string; id: string }>(
    fewestFirst({
      rows: sql`select org_id as "orgId", id, next_at as place
        from ${trailStreams} where ${isDue} and ${lease.isFree()}`,
      underWay: sql`${trailStreams} where ${lease.isLive()}`,
      most: 1,
      candidates: CANDIDATES,
    }),
  )
  return claimFirst(db, due, async (tx, { orgId, id }) => {
    // Or another of its streams is taken at the same moment.
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`trail streams of ${orgId}`}, 0))`)
    const isStream = and(eq(trailStreams.orgId, orgId), eq(trailStreams.id, id))
    return lease.take(tx, and(isStream, isDue, isAlone))
  })
}

async function send(
  { dataKeys, channels, clock }: SendTrailDeps,
  stream: TrailStreamRow,
  { events, seals, next }: Awaited<ReturnType<typeof readEvents>>,
) {
  const { url, authorization } = openTarget(dataKeys, stream)
  const cursor = `${next.epoch}:${next.row}`
  const body =
    stream.kind === 'otlp'
      ? otlpLogs(stream.orgId, { events, seals })
      : JSON.stringify({ events, seals, next: cursor })
  const headers = {
    ...(authorization !== undefined && { authorization }),
    ...(stream.kind === 'webhook' && signWebhook({ url, body, id: `${stream.id}:${cursor}`, at: clock() })),
  }
  return channels.webhook({ orgId: stream.orgId, url, headers, body, keptFor: null })
}
