/**
 * Webhooks sent by four workers against one: each with ledger, signature and the shipped way out, over kept connections. Over
 * http: with ten messages to a host the handshakes of TLS would decide, which each process has with each host.
 */
import { randomBytes } from 'node:crypto'
import { IN_FLIGHT } from '../src/contracts/limits.ts'
import {
  addressOf,
  databaseSeconds,
  EVENTS,
  fillMessages,
  inDatabase,
  postmasterOf,
  untilReceived,
  type Stage,
} from './notifications.ts'
import { cpuSeconds, file, run, untilSays } from './programs.ts'
import { report, SIDES, type Seen, type SideName } from './replicas-report.ts'
import { sizesOf } from './row-sizes.ts'
import { sized } from './sizes.ts'

const WEBHOOKS = sized(400, 20)
const MESSAGES = WEBHOOKS * EVENTS
const WARM_WEBHOOKS = sized(300, 20)

export async function deliveries(
  stage: Stage,
  rounds: number,
): Promise<{ readonly lines: string[]; readonly sizes: string[] }> {
  const names = Object.keys(SIDES) as SideName[]
  const seen: Record<SideName, Seen[]> = { one: [], four: [] }
  let sizes: string[] = []
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sent = await send(stage, name, round)
      seen[name].push(sent)
      sizes = sent.sizes
    }
  }
  return { lines: report('deliveries (webhooks over http)', 1, seen), sizes }
}

const send = (stage: Stage, side: SideName, round: number): Promise<Seen & { sizes: string[] }> =>
  inDatabase(stage.url, async (connection, url) => {
    const [dataKey, name] = [randomBytes(32).toString('hex'), `replicas-${side}-${round}`]
    await fillMessages(connection, dataKey, WEBHOOKS, (n) => addressOf(stage, 'http', name, n))
    // Later than those that warm up: four processes compile what they run four times.
    await connection.sql.query(`update messages set next_at = now() + interval '1 hour'`)
    await fillMessages(connection, dataKey, WARM_WEBHOOKS, (n) => addressOf(stage, 'http', `warm-${name}`, n))
    // As it would be after the first minute, when the server has counted its rows.
    await connection.sql.query('vacuum analyze')
    const postmaster = await postmasterOf(connection)
    const settings = JSON.stringify({ url, dataKey, group: IN_FLIGHT.min, ca: stage.ca })
    const senders = Array.from({ length: SIDES[side] }, () => run([file('notification-sender.ts'), settings]))
    try {
      await Promise.all(senders.map((sender) => untilSays('ready', sender)))
      await untilReceived(`${stage.at}/warm-${name}`, WARM_WEBHOOKS * EVENTS, senders)
      const before = databaseSeconds(postmaster)
      const used = () => senders.reduce((sum, sender) => sum + cpuSeconds(sender), 0)
      const cpu = used()
      await connection.sql.query(`update messages set next_at = now() where state = 'pending'`)
      const { ms } = await untilReceived(`${stage.at}/${name}`, MESSAGES, senders)
      return {
        perSecond: ((MESSAGES - 1) / ms) * 1000,
        cpuMs: ((used() - cpu) * 1000) / MESSAGES,
        databaseMs: ((databaseSeconds(postmaster) - before) * 1000) / MESSAGES,
        sizes: await sizesOf(url),
      }
    } finally {
      await Promise.all(senders.map((sender) => sender.stop()))
    }
  })
