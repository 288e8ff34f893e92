/**
 * The next part of a file. Its load is leased while the part is written, so that two clients do not write at the same place;
 * a client that was killed asks how much was received, and goes on from there.
 */
import { and, eq, sql } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { loads } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { LOAD_PART_MIN_BYTES } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operations.ts'
import { requireDiskQuota, writeToDatabase } from '../databases/index.ts'
import { requireMember } from '../principal.ts'
import { loadLease } from './claim-load.ts'
import { failingAsDatabase, isUnanswered } from './database-problem.ts'
import type { LoadDeps } from './load-deps.ts'
import { isLoad, presentLoad, requireLoad, type LoadRow } from './load-rows.ts'
import { createStaging, storePart } from './staging.ts'

export const uploadLoadPart =
  (deps: LoadDeps): Handler<'uploadLoadPart'> =>
  async (principal, { load_id, offset, body }) => {
    const { orgId } = requireMember(principal)
    const { load: found, source } = await requireLoad(deps.db, orgId, load_id)
    requirePlace(found, offset, body.length)
    await requireDiskQuota(deps.db, orgId, source.kind)
    const load = await takeLease(deps, found, offset)
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
                return leaseSecondsLeft(deps, load)
              })
              isStaging = false
            }
            if (!(await storePart(queries, load.id, offset, body, () => leaseSecondsLeft(deps, load)))) {
              throw otherPart()
            }
          },
          { signal: principal.signal },
        ),
      )
    } catch (error) {
      // A statement that makes tables may still arrive, though its connection was lost: until the lease has run out, nobody
      // cleans up before it.
      const mayArrive = isStaging && isUnanswered(error)
      // Perhaps because it was cleaned up.
      if (mayArrive || !(await release(deps, load, {}))) await refuseEnded(deps, load)
      throw error
    }
    const received = offset + body.length
    // Of documents nothing is left to be chosen.
    const isStarted = load.format === 'documents' && received === load.bytes
    const stored = await release(deps, load, {
      received,
      ...(isStarted && { state: 'running', phase: 'reading' }),
    })
    if (stored && isStarted) await notify(deps.db, 'loads')
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

async function takeLease({ db }: LoadDeps, load: LoadRow, offset: number): Promise<LoadRow> {
  const isNext = and(isLoad(load), eq(loads.state, 'uploading'), eq(loads.received, offset))
  const taken = await loadLease.take(db, isNext)
  if (!taken) throw otherPart()
  return taken
}

/** Refuses, where another attempt has it, or the load has ended. */
export async function leaseSecondsLeft({ db }: LoadDeps, load: LoadRow): Promise<number> {
  const [held] = await db
    .select({ seconds: sql`date_part('epoch', ${loads.leaseUntil} - clock_timestamp())`.mapWith(Number) })
    .from(loads)
    .where(isUploaded(load))
  if (!held) throw otherPart()
  return held.seconds
}

/** Nothing, where the load goes on: then another attempt has taken the lease, which ran out. */
async function refuseEnded({ db }: LoadDeps, load: LoadRow): Promise<void> {
  const { load: now } = await requireLoad(db, load.orgId, load.id)
  if (now.state === 'canceled') throw conflict('The load was canceled meanwhile')
  if (now.state !== 'uploading') throw conflict(ENDED)
}

const isUploaded = (load: LoadRow) => and(loadLease.isHeld(load), eq(loads.state, 'uploading'))

const release = (
  { db, clock }: LoadDeps,
  load: LoadRow,
  values: Partial<Pick<LoadRow, 'received' | 'state' | 'phase'>>,
): Promise<LoadRow | undefined> => loadLease.release(db, isUploaded(load), { ...values, updatedAt: clock() })
