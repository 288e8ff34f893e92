/** Reads that may be old go to a standby, if there is one that is near enough, and whoever asks has changed nothing meanwhile. */
import type { Database } from '../../db/connect.ts'
import { ServiceError } from '../contracts/errors.ts'
import { OLD_READ_SECONDS } from '../contracts/limits.ts'
import type { Operation, Principal } from '../contracts/operation.ts'
import type { Storage } from '../cores/dependencies.ts'
import { hasRecentChange, markChange } from '../cores/recent-changes.ts'

/** The type of the table already checked that verb and operation fit. */
export type Verb<Deps> = (deps: Deps) => (principal: Principal, input: never) => Promise<unknown>

export type OldReads = {
  current(): { readonly db: Database; readonly ageSeconds: number } | undefined
  /** Who has changed something through this process, when, and until that is marked: they find it. */
  readonly changes: Map<string, { readonly at: number; readonly marked: Promise<unknown> }>
  /** The same for all processes. Asked only where a standby would be. */
  readonly marks: Marks
}

type Marks = {
  set(owner: string, seconds: number): Promise<void>
  has(owner: string): Promise<boolean>
}

export type WithOldReads = { readonly oldReads?: OldReads | undefined }

export const oldReads = (replica: Pick<OldReads, 'current'>, marks: Marks): OldReads => ({
  current: () => replica.current(),
  changes: new Map(),
  marks,
})

export const marksIn = (storage: Storage): Marks => ({
  set: (owner, seconds) => markChange(storage, owner, seconds),
  has: (owner) => hasRecentChange(storage, owner),
})

/** Whoever goes on changing things is marked so often; a mark holds for so much longer. */
const MARK_SECONDS = 10

type Run = (principal: Principal, input: never) => Promise<unknown>

export function reading<Deps>(op: Operation, verb: Verb<Deps>, deps: Deps, old: OldReads | undefined): Run {
  const run = verb(deps)
  if (!old) return run
  if (!op.readOnly) return noting(run, old)
  return op.mayBeOld ? orOld(run, verb, deps, old) : run
}

const ownerOf = ({ userId, tokenId }: Principal): string => userId ?? tokenId ?? ''

const noting =
  (run: Run, { changes, marks }: OldReads): Run =>
  async (principal, input) => {
    const answer = await run(principal, input)
    const now = performance.now()
    const owner = ownerOf(principal)
    const before = changes.get(owner)
    const isMarked = before !== undefined && now - before.at < MARK_SECONDS * 1000
    // The change itself is made, whatever becomes of this.
    const marked = isMarked
      ? before.marked
      : marks.set(owner, OLD_READ_SECONDS + MARK_SECONDS).catch(() => changes.delete(owner))
    if (!isMarked) {
      changes.delete(owner)
      changes.set(owner, { at: now, marked })
    }
    // Before the answer: whatever is asked after it finds the mark, in whichever process.
    await marked
    for (const [known, { at }] of changes) {
      if (now - at < (OLD_READ_SECONDS + MARK_SECONDS) * 1000) break
      changes.delete(known)
    }
    return answer
  }

const orOld =
  <Deps>(run: Run, verb: Verb<Deps>, deps: Deps, old: OldReads): Run =>
  async (principal, input) => {
    const replica = old.current()
    // Whoever follows something is told of it at once.
    const isFollowing = (input as { after?: unknown }).after !== undefined
    if (!replica || isFollowing || (await hasChanged(old, ownerOf(principal)))) return run(principal, input)
    try {
      const answer = await verb({ ...deps, old: replica.db })(principal, input)
      return { ...(answer as object), age_seconds: replica.ageSeconds }
    } catch (error) {
      // Not there yet, away, or had to end the question to go on: the database itself is there.
      if (error instanceof ServiceError && error.code !== 'NOT_FOUND') throw error
      return run(principal, input)
    }
  }

async function hasChanged({ changes, marks }: OldReads, owner: string): Promise<boolean> {
  const changedAt = changes.get(owner)?.at ?? Number.NEGATIVE_INFINITY
  if (performance.now() - changedAt < (OLD_READ_SECONDS + MARK_SECONDS) * 1000) return true
  return marks.has(owner)
}
