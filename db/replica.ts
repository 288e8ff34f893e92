/**
 * A standby that is asked for what may be old. How old it is says the server itself: where its log is now and then, and how much
 * of that the standby has. So one that was cut off, or follows nobody, is as old as it is, however still the database was.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { OLD_READ_SECONDS } from '../src/contracts/limits.ts'
import { connect, type Connection, type Database } from './connect.ts'
import { outsideCalls } from './current-call.ts'

const TIMING = {
  /** Older than this it is not asked. */
  oldMs: OLD_READ_SECONDS * 1000,
  lookMs: 5_000,
}

export type Replica = {
  /** The handle, and how old what it answers is at most; undefined when it is not to be asked. */
  current(): { readonly db: Database; readonly ageSeconds: number } | undefined
  close(): Promise<void>
}

type Options = { readonly poolSize: number; readonly prepare: boolean; readonly timing?: typeof TIMING }

/** Throws, by name, when it is no standby of the same database. One that is away is asked when it is back. */
export async function openReplica(
  url: string,
  primary: Connection,
  { timing = TIMING, ...options }: Options,
): Promise<Replica> {
  const stopping = new AbortController()
  /** Where the log of the primary was, and when. */
  const positions: { readonly at: number; readonly position: bigint }[] = []
  let connection: Connection | undefined
  let asOf = Number.NEGATIVE_INFINITY

  async function look(): Promise<void> {
    const at = performance.now()
    const [now] = await primary.sql.query<Position>(`select pg_current_wal_lsn()::text as position`)
    positions.push({ at, position: positionOf(now!) })
    if (positions.length > 2 * (timing.oldMs / timing.lookMs)) positions.shift()
    connection ??= await connectReplica(url, primary, options)
    const [has] = await connection.sql.query<Position>(
      `select coalesce(pg_last_wal_replay_lsn(), '0/0')::text as position`,
    )
    const position = positionOf(has!)
    asOf = positions.findLast((one) => one.position <= position)?.at ?? asOf
  }

  async function keepLooking(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(timing.lookMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      // It grows older, and is left out.
      if (!stopping.signal.aborted) await look().catch(() => {})
    }
  }

  await look().catch((error: unknown) => {
    if (error instanceof NotOurs) throw error
  })
  const looking = outsideCalls(keepLooking)
  return {
    current() {
      const ageMs = performance.now() - asOf
      if (!connection || ageMs > timing.oldMs) return undefined
      return { db: connection.db, ageSeconds: Math.ceil(ageMs / 1000) }
    },
    async close() {
      stopping.abort()
      await looking
      await connection?.close()
    },
  }
}

class NotOurs extends Error {}

async function connectReplica(
  url: string,
  primary: Connection,
  options: Pick<Options, 'poolSize' | 'prepare'>,
): Promise<Connection> {
  const connection = await connect({ url }, { ...options, takesStandby: true })
  try {
    const [here, there] = await Promise.all([identityOf(primary), identityOf(connection)])
    if (!there.is_standby) throw new NotOurs('DATABASE_REPLICA_URL names a server that is no standby')
    if (here.id !== there.id)
      throw new NotOurs('DATABASE_REPLICA_URL names a standby of another installation than DATABASE_URL')
    return connection
  } catch (error) {
    await connection.close()
    throw error
  }
}

type Position = { readonly position: string }

/** As the server writes it: two hexadecimal numbers of 32 bits. */
function positionOf({ position }: Position): bigint {
  const [high = '0', low = '0'] = position.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

type Identity = { readonly id: string; readonly is_standby: boolean }

async function identityOf({ sql }: Connection): Promise<Identity> {
  const [row] = await sql.query<Identity>(`
    select (select system_identifier from pg_control_system()) || ' ' ||
      (select oid from pg_database where datname = current_database()) as id,
      pg_is_in_recovery() as is_standby`)
  return row!
}
