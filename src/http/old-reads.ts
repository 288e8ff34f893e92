/** Reads that may be old go to a standby, if there is one that is near enough, and whoever asks has changed nothing meanwhile. */
import type { Database } from '../../db/connect.ts'
import { ServiceError } from '../contracts/errors.ts'
import { OLD_READ_SECONDS } from '../contracts/limits.ts'
import type { Operation, Principal } from '../contracts/operation.ts'

/** The type of the table already checked that verb and operation fit. */
export type Verb<Deps> = (deps: Deps) => (principal: Principal, input: never) => Promise<unknown>

export type OldReads = {
  current(): { readonly db: Database; readonly ageSeconds: number } | undefined
  /** Who has changed something, and when: they find it. */
  readonly changes: Map<string, number>
}

export type WithOldReads = { readonly oldReads?: OldReads | undefined }

export const oldReads = (replica: Pick<OldReads, 'current'>): OldReads => ({
  current: () => replica.current(),
  changes: new Map(),
})

type Run = (principal: Principal, input: never) => Promise<unknown>

export function reading<Deps>(op: Operation, verb: Verb<Deps>, deps: Deps, old: OldReads | undefined): Run {
  const run = verb(deps)
  if (!old) return run
  if (!op.readOnly) return noting(run, old)
  return op.mayBeOld ? orOld(run, verb, deps, old) : run
}

const ownerOf = ({ userId, tokenId }: Principal): string => userId ?? tokenId ?? ''

const noting =
  (run: Run, { changes }: OldReads): Run =>
  async (principal, input) => {
    const answer = await run(principal, input)
    const now = performance.now()
    const owner = ownerOf(principal)
    changes.delete(owner)
    changes.set(owner, now)
    for (const [known, at] of changes) {
      if (now - at < OLD_READ_SECONDS * 1000) break
      changes.delete(known)
    }
    return answer
  }

const orOld =
  <Deps>(run: Run, verb: Verb<Deps>, deps: Deps, old: OldReads): Run =>
  async (principal, input) => {
    const replica = old.current()
    const changedAt = old.changes.get(ownerOf(principal)) ?? Number.NEGATIVE_INFINITY
    // Whoever follows something is told of it at once.
    const isFollowing = (input as { after?: unknown }).after !== undefined
    if (!replica || isFollowing || performance.now() - changedAt < OLD_READ_SECONDS * 1000)
      return run(principal, input)
    try {
      const answer = await verb({ ...deps, old: replica.db })(principal, input)
      return { ...(answer as object), age_seconds: replica.ageSeconds }
    } catch (error) {
      // It is away, or had to end the question to go on: the database itself is there.
      if (error instanceof ServiceError) throw error
      return run(principal, input)
    }
  }
