/** The commands of apps and notifications, for the table of every command and every exit code. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Call } from '../../src/client/call.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { listDeliveries } from '../../src/contracts/deliveries.ts'
import { listInbox } from '../../src/contracts/inbox.ts'
import { connectWebhook } from '../../src/contracts/integrations.ts'
import { createSubscription, setFollow, testSubscription } from '../../src/contracts/subscriptions.ts'
import { fileTicket } from '../../src/contracts/tickets.ts'

export type Given = { stdin?: string; terminal?: boolean; env?: Record<string, string> }
export type Row = [line: string, exit: number, says: RegExp, given?: Given]

/** The receiver listens here. */
export const NOTIFICATION_SETTINGS = { NOTIFY_ALLOW_NETS: '127.0.0.0/8' }

/** A receiver of webhooks that is always content. */
export async function startReceiver(): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end())
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** A message that arrived, and one in the inbox: what there is to look at. */
export async function makeNews(call: Call, receiver: string): Promise<Record<string, string>> {
  const { id: connection } = await call(connectWebhook, { name: 'Receiver', url: `${receiver}/first` })
  const subscribing = { integration_id: connection, pattern: 'deploy.failed' }
  const { id: subscription } = await call(createSubscription, subscribing)
  await call(testSubscription, { subscription_id: subscription })
  await call(createApp, { alias: 'shop', name: 'Shop' })
  await call(setFollow, { alias: 'shop', categories: ['Tickets'] })
  await call(fileTicket, { alias: 'shop', title: 'It broke', body: 'Badly.' })
  const delivery = await until(async () => {
    const { deliveries } = await call(listDeliveries, { state: 'sent' })
    return deliveries[0]?.id
  })
  const notification = await until(async () => (await call(listInbox, {})).notifications[0]?.id)
  return { connection, subscription, delivery, notification, receiver }
}

async function until(found: () => Promise<string | undefined>): Promise<string> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline;) {
    const id = await found()
    if (id !== undefined) return id
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('nothing arrived')
}

const NO = (prefix: string): string => `${prefix}_0mwhkcyh5nlh1pqqssy5gj19q`

export const NOTIFICATION_ROWS: Row[] = [
  ['apps list', 0, /^APP +NAME +YOU ARE +OPEN TICKETS\nshop +Shop +administrator +1\n/],
  ['apps list --mine --search nothing --json', 0, /"apps": \[\]/],
  ['apps list --limit x', 5, /--limit cannot be x/],
  ['apps create till --name "The till"', 0, /till +The till +/],
  ['apps create till', 6, /error: /],
  ['apps create Till', 5, /lower-case letter/],
  ['apps create other --context ro', 3, /error: /],

  ['notifications list', 0, /^ID +AT +TYPE[^]*support\.ticket\.created +shop: a ticket was filed +no +http/],
  ['notifications list --type pipeline.* --since 2026-01-01 --json', 0, /"notifications": \[\]/],
  ['notifications list --state new', 5, /It is one of: unread, read, all/],
  ['notifications ack {notification}', 0, /read_at: +20/],
  [`notifications ack ${NO('ntf')}`, 4, /svc notifications list/],
  ['notifications ack one', 4, /Not found/],
  ['notifications ack', 5, /needs <id>/],
  ['notifications follows', 0, /^APP +NAME +CATEGORIES[^]*\nshop +Shop +Tickets +immediately/],
  ['notifications follows --following --all --json', 0, /"app": "shop"/],
  ['notifications follows --limit 0', 5, /--limit cannot be 0/],
  [
    'notifications follow shop --category Tickets --category "Failed deploys" --frequency daily',
    0,
    /shop +Shop +Failed deploys, Tickets +daily/,
  ],
  ['notifications follow shop --stop', 0, /shop +Shop +- +-/],
  ['notifications follow shop', 5, /Nothing says what to follow/],
  ['notifications follow shop --stop --category Checks', 5, /contradicts/],
  ['notifications follow nothing --stop', 4, /svc notifications follows/],

  [
    'notifications connections',
    0,
    /^ID +KIND +NAME[^]*\{connection\} +webhook +Receiver +active +http:[^ ]+\/… /,
  ],
  ['notifications connections --context ro', 3, /error: /],
  ['notifications connections --all', 5, /no option --all/],
  ['notifications connect Second --url -', 0, / webhook +Second +active /, { stdin: '{receiver}/second' }],
  ['notifications connect Again --url -', 6, /connected already/, { stdin: '{receiver}/second' }],
  ['notifications connect Team --chat', 0, / chat +Team +/, { stdin: '{receiver}/chat\r', terminal: true }],
  ['notifications connect Inside --url https://10.0.0.7/x', 5, /cannot be sent to/],
  ['notifications connect Nothing', 5, /needs --url/],
  ['notifications preview deploy.*', 0, /^TYPE +IN 7 DAYS +WHEN\ndeploy\.failed +0 +/],
  ['notifications preview deploy.exploded', 0, /No event of this type is defined/],
  ['notifications preview Deploy!', 5, /must be an event type/],
  ['notifications subscriptions', 0, /\n\{subscription\} +deploy\.failed +Receiver +immediately +yes/],
  ['notifications subscriptions --pattern deploy --connection {connection} --json', 0, /"is_default": false/],
  ['notifications subscriptions --limit x', 5, /--limit cannot be x/],
  [
    'notifications subscribe {connection} deploy.* --timing hourly',
    0,
    /hourly[^]*arrive at this connection twice/,
  ],
  ['notifications subscribe {connection} deploy.*', 6, /has such a subscription already/],
  [`notifications subscribe ${NO('int')} deploy.failed`, 4, /svc notifications connections/],
  ['notifications subscribe {connection} deploy.failed --timing weekly', 5, /It is one of: immediately/],
  ['notifications pause {subscription}', 0, / no +paused/],
  [`notifications pause ${NO('sub')}`, 4, /svc notifications subscriptions/],
  ['notifications pause', 5, /needs <subscription_id>/],
  ['notifications test {subscription}', 6, /is paused/],
  ['notifications resume {subscription}', 0, / yes +-/],
  [`notifications resume ${NO('sub')}`, 4, /svc notifications subscriptions/],
  ['notifications resume', 5, /needs <subscription_id>/],
  ['notifications test {subscription}', 0, /svc notifications deliveries --event evt_/],
  [`notifications test ${NO('sub')}`, 4, /svc notifications subscriptions/],
  ['notifications test', 5, /needs <subscription_id>/],
  ['notifications deliveries', 0, /^ID +AT +TYPE[^]*\n\{delivery\} [^\n]* webhook +Receiver +sent +- +1 /],
  [
    'notifications deliveries --state sent --channel webhook --type svc.* --connection {connection} --from 2026-01-01 --json',
    0,
    /"id": "\{delivery\}"/,
  ],
  ['notifications deliveries --state lost', 5, /It is one of: waiting/],
  ['notifications show {delivery}', 0, /state: +sent\n[^]*attempt 1: +20\S+ sent 200 \d+ ms\n/],
  [`notifications show ${NO('ntf')}`, 4, /svc notifications deliveries/],
  ['notifications show', 5, /needs <delivery_id>/],
  ['notifications replay {delivery}', 5, /Add --yes/],
  ['notifications replay {delivery}', 0, /replay_of: +\{delivery\}/, { terminal: true, stdin: 'y\n' }],
  [`notifications replay ${NO('ntf')} --yes`, 4, /svc notifications deliveries/],
  ['notifications unsubscribe {subscription}', 5, /Add --yes/],
  ['notifications unsubscribe {subscription} --yes', 0, /Removed sub_/],
  ['notifications unsubscribe {subscription} --yes', 4, /svc notifications subscriptions/],
  ['notifications disconnect {connection}', 5, /Add --yes/],
  ['notifications disconnect {connection} --yes', 0, /Removed int_/],
  ['notifications disconnect {connection} --yes', 4, /svc notifications connections/],
  ['notifications replay {delivery} --yes', 6, /connection is gone/],
]

export const NOTIFICATION_LINES: Record<string, string> = {
  'apps list': 'apps list',
  'apps create': 'apps create shop',
  'notifications list': 'notifications list',
  'notifications ack': `notifications ack ${NO('ntf')}`,
  'notifications follows': 'notifications follows',
  'notifications follow': 'notifications follow shop --stop',
  'notifications connections': 'notifications connections',
  'notifications connect': 'notifications connect Third --url https://10.0.0.7/x',
  'notifications disconnect': `notifications disconnect ${NO('int')} --yes`,
  'notifications subscriptions': 'notifications subscriptions',
  'notifications subscribe': `notifications subscribe ${NO('int')} deploy.failed`,
  'notifications pause': `notifications pause ${NO('sub')}`,
  'notifications resume': `notifications resume ${NO('sub')}`,
  'notifications unsubscribe': `notifications unsubscribe ${NO('sub')} --yes`,
  'notifications test': `notifications test ${NO('sub')}`,
  'notifications preview': 'notifications preview deploy.*',
  'notifications deliveries': 'notifications deliveries',
  'notifications show': `notifications show ${NO('ntf')}`,
  'notifications replay': `notifications replay ${NO('ntf')} --yes`,
}

export const NOTIFICATION_CALLS: Record<string, string> = {
  'apps list': 'apps.list',
  'apps create': 'apps.create',
  'notifications list': 'inbox.list',
  'notifications ack': 'inbox.acknowledge',
  'notifications follows': 'follows.list',
  'notifications follow': 'follows.set',
  'notifications connections': 'integrations.list',
  'notifications connect': 'integrations.connectWebhook',
  'notifications disconnect': 'integrations.remove',
  'notifications subscriptions': 'subscriptions.list',
  'notifications subscribe': 'subscriptions.create',
  'notifications pause': 'subscriptions.update',
  'notifications resume': 'subscriptions.update',
  'notifications unsubscribe': 'subscriptions.delete',
  'notifications test': 'subscriptions.test',
  'notifications preview': 'subscriptions.preview',
  'notifications deliveries': 'deliveries.list',
  'notifications show': 'deliveries.show',
  'notifications replay': 'deliveries.replay',
}

const NOT_WORKING = 'only a connection that was lost refuses: test/walks/integrations.test.ts'
export const NOTIFICATION_UNTRIED: Record<string, { exits: number[]; because: string }> = {
  'notifications pause': { exits: [6], because: NOT_WORKING },
  'notifications resume': { exits: [6], because: NOT_WORKING },
}
