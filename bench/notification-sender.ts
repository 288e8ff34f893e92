/** Our contestant: the loops of the worker with ledger and signature, and the shipped way out with its guard. */
import { connect } from '../db/connect.ts'
import { outbound } from '../src/adapters/outbound/guarded-post.ts'
import { sendWebhook } from '../src/adapters/outbound/send-webhook.ts'
import { localDirectory } from '../src/cores/directory/index.ts'
import { dataKeys } from '../src/trust/data-key.ts'
import { startNotifications } from '../src/worker/notifications.ts'

const { url, dataKey, group, ca } = JSON.parse(process.argv[2]!) as {
  url: string
  dataKey: string
  group: number
  ca: string
}
const { db, close } = await connect({ url })
const never = () => Promise.reject(new Error('only webhooks here'))
// Names below localhost lead to this machine without a name server; everything else is as in the product.
const out = outbound({ allowNets: ['127.0.0.0/8'], ca })
const running = startNotifications(
  {
    db,
    clock: () => new Date(),
    directory: localDirectory(() => new Date()),
    channels: {
      webhook: sendWebhook(out.post, 'svc/bench'),
      chat: never,
      direct_message: never,
      email: null,
      forum: never,
    },
    dataKeys: dataKeys(dataKey),
    appUrl: new URL('https://app.example.com'),
    siteUrl: new URL('https://app.example.com'),
    log: { warn: (event, fields) => console.error(event, fields) },
  },
  { inFlightMax: group },
)
console.log('ready')
process.on('SIGTERM', () => {
  void running.stop().then(() => {
    out.close()
    return close()
  })
})
