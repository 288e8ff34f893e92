/**
 * One worker of notifications as a process of its own, for tests that kill it. Its receiver is real; its leases are
 * short, so that a test sees them run out. On Postgres it is given an address, on PGlite a folder.
 */
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import type { ChannelPorts, Outcome } from '../../src/cores/notifications/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { startNotifications } from '../../src/worker/notifications.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'

export type WorkerSettings = {
  readonly database: { readonly url: string } | { readonly folder: string }
  readonly dataKey: string
  readonly claimLeaseSeconds: number
  readonly attemptLeaseSeconds: number
}

/** A request of our own, so that what it says of an outcome is plain to see: nothing refused, or nobody knows. */
const post = (url: string, headers: Record<string, string>, body: string): Promise<Outcome> =>
  new Promise((resolve) => {
    let isWritten = false
    const outgoing = request(url, { method: 'POST', headers, agent: false }, (answer) => {
      answer.resume()
      const { statusCode: httpStatus = 0 } = answer
      const refused = { kind: 'refused', reason: 'server_error', retry: true, httpStatus } as const
      resolve(httpStatus < 300 ? { kind: 'sent', httpStatus } : refused)
    })
    outgoing.on('socket', (socket) => socket.once('connect', () => (isWritten = true)))
    outgoing.on('error', () =>
      resolve(isWritten ? { kind: 'unknown' } : { kind: 'refused', reason: 'not_reached', retry: true }),
    )
    outgoing.end(body)
  })

const never = () => Promise.reject(new Error('only webhooks here'))
const channels: ChannelPorts = {
  webhook: ({ url, headers, body }) => post(url, headers, body),
  chat: never,
  direct_message: never,
  email: null,
  forum: never,
}

const settings = JSON.parse(process.argv[2]!) as WorkerSettings
const { db, close } = await connect(settings.database, { poolSize: 4 })
const { claimLeaseSeconds, attemptLeaseSeconds } = settings
const notifications = startNotifications(
  {
    db,
    clock: () => new Date(),
    directory: localDirectory,
    channels,
    dataKeys: dataKeys(settings.dataKey),
    appUrl: new URL('https://app.example.test'),
    siteUrl: new URL('https://app.example.test'),
    mail: null,
    log: { warn: (event, fields) => void process.stderr.write(`${event} ${String(fields?.['error'])}\n`) },
  },
  { claimLeaseSeconds, attemptLeaseSeconds, expireLeasesMs: 300 },
)
process.on('SIGTERM', () => {
  void notifications
    .stop()
    .then(close)
    .then(() => process.exit(0))
})
process.stdout.write('ready\n')

/** Whoever started it cannot always look for itself: an embedded database belongs to one process. */
for (;;) {
  await sleep(500)
  const [row] = await db.execute<{ n: string }>(sql`
    select (select count(*) from outbox) + (select count(*) from events where fanned_out_at is null)
      + (select count(*) from messages where state in ('open', 'pending', 'claimed', 'sending')) as n`)
  process.stdout.write(`left ${row!.n}\n`)
}
