/**
 * One worker of notifications as a process of its own, for tests that kill it, with the shipped way out: connections are
 * kept. Its receiver is real; its leases are short, so that a test sees them run out. On Postgres it is given an address, on PGlite a folder.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../db/connect.ts'
import { sql } from '../../db/drizzle.ts'
import { outbound } from '../../src/adapters/outbound/guarded-post.ts'
import { sendWebhook } from '../../src/adapters/outbound/send-webhook.ts'
import type { ChannelPorts } from '../../src/cores/notifications/index.ts'
import { dataKeys } from '../../src/trust/data-key.ts'
import { startNotifications } from '../../src/worker/notifications.ts'
import { localDirectory } from '../../src/cores/directory/index.ts'

export type WorkerSettings = {
  readonly database: { readonly url: string } | { readonly folder: string }
  readonly dataKey: string
  readonly claimLeaseSeconds: number
  readonly attemptLeaseSeconds: number
}

const never = () => Promise.reject(new Error('only webhooks here'))
const channels: ChannelPorts = {
  webhook: sendWebhook(outbound({ allowNets: ['127.0.0.0/8'] }).post, 'svc/test'),
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
    directory: localDirectory(() => new Date()),
    channels,
    dataKeys: dataKeys(settings.dataKey),
    appUrl: new URL('https://app.example.test'),
    siteUrl: new URL('https://app.example.test'),
    log: { warn: (event, fields) => void process.stderr.write(`${event} ${String(fields?.['error'])}\n`) },
  },
  { claimLeaseSeconds, attemptLeaseSeconds, expireLeasesMs: 300 },
)
let isStopping = false
process.on('SIGTERM', () => {
  isStopping = true
  void notifications
    .stop()
    .then(close)
    .then(() => process.exit(0))
})
process.stdout.write('ready\n')

/** Whoever started it cannot always look for itself: an embedded database belongs to one process. */
for (;;) {
  await sleep(500)
  if (isStopping) break
  const [row] = await db.execute<{ n: string }>(sql`
    select (select count(*) from outbox) + (select count(*) from events where fanned_out_at is null)
      -- Not what waits on purpose: the digest of notices to the owner.
      + (select count(*) from messages where state in ('pending', 'claimed', 'sending')
          or (state = 'open' and next_at <= now())) as n`)
  process.stdout.write(`left ${row!.n}\n`)
}
