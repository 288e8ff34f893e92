/**
 * The next part of a file. Its load is leased while the part is written, so that two clients do not write at the same place;
 * a client that was killed asks how much was received, and goes on from there.
 */
import { randomUUID } from 'node:crypto'
import { and, eq, isNull, lt, or, sql } from '../../../db/drizzle.ts'
import { loads } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_LEASE_SECONDS, LOAD_PART_MIN_BYTES } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireDiskQuota, writeToDatabase } from '../databases/index.ts'
import { requireMember } from '../principal.ts'
import { failingAsDatabase, isUnanswered } from './database-problem.ts'
import type { LoadDeps } from './load-deps.ts'
import { isLoad, presentLoad, requireLoad, type LoadRow } from './load-rows.ts'
import { createStaging, storePart } from './staging.ts'

export const uploadLoadPart =
  (deps: LoadDeps): Handler<'uploadLoadPart'> =>
  async (principal, { load_id, offset, body }) => {
    const { orgId } = requireMember(principal)
    const { load, source } = await requireLoad(deps.db, orgId, load_id)
    requirePlace(load, offset, body.length)
    await requireDiskQuota(deps.db, orgId, source.kind)
    const leaseToken = await takeLease(deps, load, offset)
    let isStaging = false
    try {
      await failingAsDatabase(() =>
        writeToDatabase(
          deps,
          source,
          async (queries) => {
            if (offset === 0) {
              await createStaging(queries, load.id, () => {
                isStaging = true
                return leaseSecondsLeft(deps, load, leaseToken)
              })
              isStaging = false
            }
            await storePart(queries, load.id, offset, body)
          },
          { signal: principal.signal },
        ),
      )
    } catch (error) {
      // A statement that makes tables may still arrive, though its connection was lost: until the lease has run out, nobody
      // cleans up before it.
      const mayArrive = isStaging && isUnanswered(error)
      // Perhaps because it was cleaned up.
      if (mayArrive || !(await release(deps, load, leaseToken, {}))) await refuseEnded(deps, load)
      throw error
    }
    const stored = await release(deps, load, leaseToken, { received: offset + body.length })
    if (stored) return presentLoad(stored, source)
    await refuseEnded(deps, load)
    throw otherPart()
  }

/** Whoever asks again hears how much was received. */
const otherPart = () =>
  new ServiceError('RATE_LIMITED', 'Another part of this file is being uploaded', { retryAfterSeconds: 2 })
const ENDED = 'The file of this load is not uploaded any more'
const conflict = (message: string, hint?: string) => new ServiceError('CONFLICT', message, { hint })

function requirePlace({ state, received, bytes }: LoadRow, offset: number, length: number): void {
  if (state !== 'uploading') throw conflict(ENDED)
  if (offset !== received) {
    throw conflict(`${received} bytes were uploaded`, `Go on with offset=${received}.`)
  }
  if (offset + length > bytes) throw conflict(`The file was announced with ${bytes} bytes`)
  if (length < LOAD_PART_MIN_BYTES && offset + length < bytes) {
    throw new ServiceError('INVALID_REQUEST', undefined, {
      problems: [`body: each part but the last must have at least ${LOAD_PART_MIN_BYTES} bytes`],
    })
  }
}

async function takeLease({ db }: LoadDeps, load: LoadRow, offset: number): Promise<string> {
  const leaseToken = randomUUID()
  const taken = await db
    .update(loads)
    .set({ leaseToken, leaseUntil: sql`now() + make_interval(secs => ${LOAD_LEASE_SECONDS})` })
    .where(
      and(
        isLoad(load),
        eq(loads.state, 'uploading'),
        eq(loads.received, offset),
        or(isNull(loads.leaseUntil), lt(loads.leaseUntil, sql`now()`)),
      ),
    )
    .returning({ id: loads.id })
  if (taken.length > 0) return leaseToken
  throw otherPart()
}

/** Refuses, where another attempt has it, or the load has ended. */
async function leaseSecondsLeft({ db }: LoadDeps, load: LoadRow, leaseToken: string): Promise<number> {
  const [held] = await db
    .select({ seconds: sql`date_part('epoch', ${loads.leaseUntil} - now())`.mapWith(Number) })
    .from(loads)
    .where(isHeld(load, leaseToken))
  if (!held) throw otherPart()
  return held.seconds
}

/** Nothing, where the load goes on: then another attempt has taken the lease, which ran out. */
async function refuseEnded({ db }: LoadDeps, load: LoadRow): Promise<void> {
  const { load: now } = await requireLoad(db, load.orgId, load.id)
  if (now.state === 'canceled') throw conflict('The load was canceled meanwhile')
  if (now.state !== 'uploading') throw conflict(ENDED)
}

const isHeld = (load: LoadRow, leaseToken: string) =>
  and(isLoad(load), eq(loads.leaseToken, leaseToken), eq(loads.state, 'uploading'))

async function release(
  { db, clock }: LoadDeps,
  load: LoadRow,
  leaseToken: string,
  values: { received?: number },
): Promise<LoadRow | undefined> {
  const [released] = await db
    .update(loads)
    .set({ ...values, leaseToken: null, leaseUntil: null, updatedAt: clock() })
    .where(isHeld(load, leaseToken))
    .returning()
  return released
}
