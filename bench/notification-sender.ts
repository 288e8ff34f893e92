/** Our contestant: the loops of the worker with ledger and signature, over the bench's own way out. */
import { connect } from '../db/connect.ts'
import { dataKeys } from '../src/trust/data-key.ts'
import { startNotifications } from '../src/worker/notifications.ts'
import { post } from './notification-post.ts'
import { localDirectory } from '../src/cores/directory/index.ts'

const { url, dataKey, group } = JSON.parse(process.argv[2]!) as {
  url: string
  dataKey: string
  group: number
}
const { db, close } = await connect({ url })
const never = () => Promise.reject(new Error('only webhooks here'))
const running = startNotifications(
  {
    db,
    clock: () => new Date(),
    directory: localDirectory,
    channels: {
      async webhook(message) {
        const httpStatus = await post(message.url, message.headers, message.body)
        return httpStatus === 200
          ? { kind: 'sent', httpStatus }
          : { kind: 'refused', reason: 'refused', retry: true, httpStatus }
      },
      chat: never,
      direct_message: never,
      email: null,
      forum: never,
    },
    dataKeys: dataKeys(dataKey),
    appUrl: new URL('https://app.example.com'),
    siteUrl: new URL('https://app.example.com'),
    mail: null,
    log: { warn: (event, fields) => console.error(event, fields) },
  },
  { inFlightMax: group },
)
console.log('ready')
process.on('SIGTERM', () => void running.stop().then(close))
