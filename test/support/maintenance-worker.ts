/**
 * Something that holds a maintenance run, or dispatches nights, as a process of its own, for tests that kill and stop it.
 * `hold`: it claims a run, reserves tokens, and does what it reads, a word a line. `dispatch`: it loops; `pausing`, it stops
 * right before it would commit, and says so.
 */
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../db/connect.ts'
import { runSteps } from '../../db/schema.ts'
import {
  claimRun,
  dispatchSlots,
  endRun,
  expireRuns,
  Fenced,
  renewLease,
  reserveRunTokens,
  settleRunTokens,
  underLease,
} from '../../src/cores/maintenance/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'

export type MaintenanceWorkerSettings = {
  readonly url: string
  /** Its clock stands still. */
  readonly now: string
  readonly does: 'hold' | 'dispatch'
  readonly pausing?: true
}

const { url, now, does, pausing } = JSON.parse(process.argv[2]!) as MaintenanceWorkerSettings
const connection = await connect({ url }, { poolSize: 2 })
const db = pausing ? pauseBeforeCommit(connection.db) : connection.db
const clock = () => new Date(now)
const log = { warn: (event: string, fields?: object) => console.error(event, fields) }
const say = (word: string) => process.stdout.write(`${word}\n`)

say('ready')
await (does === 'hold' ? hold() : dispatch())

async function hold(): Promise<void> {
  const claimed = await claimRun({ db, clock }, { claimId: `claim-${process.pid}`, models: ['rules'] })
  const key = { ...claimed!.key, model: claimed!.run.model }
  const { id: reservation } = await reserveRunTokens({ db, clock }, key, 500)
  const done = (work: Promise<unknown>) =>
    work.then(
      (result) => (result === false ? 'refused' : 'done'),
      (error: unknown) => (error instanceof Fenced ? 'refused' : `failed: ${String(error)}`),
    )
  const deeds: Record<string, () => Promise<unknown>> = {
    renew: () => renewLease(db, key),
    write: () =>
      withTransaction(db, async (tx) => {
        await underLease(tx, key)
        const of = { orgId: key.orgId, executionId: key.executionId, number: 1 }
        const digests = { requestSha256: '', resultSha256: '' }
        await tx
          .insert(runSteps)
          .values({ ...of, ...digests, tool: 'late', result: 'ok', ms: 0, at: clock() })
      }),
    settle: () => settleRunTokens(db, key, reservation!, 100),
    end: () => withTransaction(db, (tx) => endRun(tx, clock, key, { code: 'proposed' })),
  }
  say('sent')
  for await (const word of createInterface({ input: process.stdin })) {
    say(`${word} ${await done(deeds[word]!())}`)
  }
}

async function dispatch(): Promise<void> {
  for (;;) {
    const handled = (await dispatchSlots({ db, clock, log })) + (await expireRuns({ db, clock, log }))
    say(`handled ${handled}`)
    if (handled === 0) await sleep(50)
  }
}

function pauseBeforeCommit<Db extends typeof connection.db>(real: Db): Db {
  const transaction: Db['transaction'] = (work, ...rest) =>
    real.transaction(
      async (tx) => {
        await work(tx)
        say('written')
        return new Promise<never>(() => {})
      },
      ...rest,
    )
  return new Proxy(real, {
    get: (target, name, receiver): unknown =>
      name === 'transaction' ? transaction : Reflect.get(target, name, receiver),
  })
}
